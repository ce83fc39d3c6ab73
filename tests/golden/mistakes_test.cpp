// Every known mistake, made once on purpose, in plain loops: the check must recognise it and name no other.
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "attn/golden/check.hpp"
#include "golden_folder.hpp"
#include "matrices.hpp"

using namespace attn;

namespace {

using Rows = std::vector<std::vector<double>>;

Rows rows(const Matrix& A) {
  Rows out(A.shape(0), std::vector<double>(A.shape(1)));
  for (std::size_t i = 0; i < A.shape(0); ++i) {
    for (std::size_t j = 0; j < A.shape(1); ++j) out[i][j] = A(i, j);
  }
  return out;
}

Tensor tensor(const Rows& A) {
  std::vector<double> flat;
  for (const auto& row : A) flat.insert(flat.end(), row.begin(), row.end());
  return {{A.size(), A[0].size()}, flat};
}

Rows turned(const Rows& A) {
  Rows out(A[0].size(), std::vector<double>(A.size()));
  for (std::size_t i = 0; i < A.size(); ++i) {
    for (std::size_t j = 0; j < A[0].size(); ++j) out[j][i] = A[i][j];
  }
  return out;
}

Rows times(const Rows& A, const Rows& B) {
  Rows C(A.size(), std::vector<double>(B[0].size(), 0.0));
  for (std::size_t i = 0; i < A.size(); ++i) {
    for (std::size_t j = 0; j < B[0].size(); ++j) {
      for (std::size_t k = 0; k < B.size(); ++k) C[i][j] += A[i][k] * B[k][j];
    }
  }
  return C;
}

/// The numbers in their order, in rows of another length.
Rows reshaped(const Rows& A, std::size_t columns) {
  Rows out;
  for (const auto& row : A) {
    for (const double a : row) {
      if (out.empty() || out.back().size() == columns) out.emplace_back();
      out.back().push_back(a);
    }
  }
  return out;
}

Rows each(Rows A, const std::function<double(double)>& f) {
  for (auto& row : A) {
    for (double& a : row) a = f(a);
  }
  return A;
}

double largest(const std::vector<double>& row) { return *std::max_element(row.begin(), row.end()); }

Rows row_softmax(Rows S) {
  for (auto& row : S) {
    const double top = largest(row);
    double sum = 0;
    for (double& s : row) sum += s = std::exp(s - top);
    for (double& s : row) s /= sum;
  }
  return S;
}

/// Somebody's attention, of which every step can be wrong.
struct Learner {
  std::function<Rows(Rows)> prepare_weights = [](Rows W) { return W; };
  std::function<void(std::map<std::string, Rows>&)> prepare_inputs = [](auto&) {};
  std::function<Rows(Rows, Rows)> score = [](const Rows& Q, const Rows& K) { return times(Q, turned(K)); };
  std::function<double(double)> scale;  // of d_k; empty: the right one
  std::function<Rows(Rows)> softmax = row_softmax;
  std::function<Rows(Rows, Rows)> mix = times;

  std::map<std::string, Tensor> attend(const GoldenCase& golden) const {
    std::map<std::string, Rows> t;
    for (const GoldenTensor& input : golden.inputs) t[input.name] = rows(golden.input(input.name));
    prepare_inputs(t);
    if (t.count("W_Q") > 0) {
      for (const char* name : {"Q", "K", "V"})
        t[name] = times(t["X"], prepare_weights(t[std::string("W_") + name]));
    } else if (t.count("X") > 0) {
      t["Q"] = t["K"] = t["V"] = t["X"];
    }
    t["scores"] = score(t["Q"], t["K"]);
    const double d_k = static_cast<double>(t["Q"][0].size());
    const double factor = scale ? scale(d_k) : golden.chapter == 3 ? 1 / std::sqrt(d_k) : 1.0;
    t["scaled_scores"] = each(t["scores"], [&](double s) { return factor * s; });
    t["weights"] = softmax(t["scaled_scores"]);
    t["output"] = mix(t["weights"], t["V"]);
    std::map<std::string, Tensor> out;
    for (const GoldenTensor& output : golden.outputs) out[output.name] = tensor(t[output.name]);
    return out;
  }
};

Learner scaled_by(std::function<double(double)> scale) {
  Learner learner;
  learner.scale = std::move(scale);
  return learner;
}

Learner softmax_is(std::function<Rows(Rows)> softmax) {
  Learner learner;
  learner.softmax = std::move(softmax);
  return learner;
}

Learner score_is(std::function<Rows(Rows, Rows)> score) {
  Learner learner;
  learner.score = std::move(score);
  return learner;
}

Learner weights_are(std::function<Rows(Rows)> prepare) {
  Learner learner;
  learner.prepare_weights = std::move(prepare);
  return learner;
}

Learner inputs_swapped(const std::string& a, const std::string& b) {
  Learner learner;
  learner.prepare_inputs = [=](auto& t) {
    const std::string prefix = t.count("W_Q") > 0 ? "W_" : "";
    std::swap(t[prefix + a], t[prefix + b]);
  };
  return learner;
}

Rows softmax_over_everything(const Rows& S) {
  double top = -INFINITY, sum = 0;
  for (const auto& row : S) top = std::max(top, largest(row));
  const Rows e = each(S, [&](double s) { return std::exp(s - top); });
  for (const auto& row : e) {
    for (const double a : row) sum += a;
  }
  return each(e, [&](double a) { return a / sum; });
}

/// Maximum and sum of row j are used for column j.
Rows axis_dropped(const Rows& S) {
  Rows e = S;
  std::vector<double> sums(S.size(), 0.0);
  for (std::size_t i = 0; i < S.size(); ++i) {
    for (std::size_t j = 0; j < S.size(); ++j) sums[i] += e[i][j] = std::exp(S[i][j] - largest(S[j]));
  }
  for (auto& row : e) {
    for (std::size_t j = 0; j < row.size(); ++j) row[j] /= sums[j];
  }
  return e;
}

Rows no_maximum(Rows S) {
  for (auto& row : S) {
    double sum = 0;
    for (double& s : row) sum += s = std::exp(s);
    for (double& s : row) s /= sum;
  }
  return S;
}

Rows row_sums_only(Rows S) {
  for (auto& row : S) {
    double sum = 0;
    for (const double s : row) sum += s;
    for (double& s : row) s /= sum;
  }
  return S;
}

Rows exponentials_only(Rows S) {
  for (auto& row : S) {
    const double top = largest(row);
    for (double& s : row) s = std::exp(s - top);
  }
  return S;
}

Rows softmax_over_queries(const Rows& S) { return turned(row_softmax(turned(S))); }

Learner sum_over_queries() {
  Learner learner;
  learner.mix = [](const Rows& A, const Rows& V) { return times(turned(A), V); };
  return learner;
}

Learner scaled_after_softmax(double d_k) {
  Learner learner = softmax_is([=](const Rows& scaled) {
    const Rows S = each(scaled, [&](double s) { return s * std::sqrt(d_k); });
    return each(row_softmax(S), [&](double a) { return a / std::sqrt(d_k); });
  });
  return learner;
}

Learner values_not_projected() {
  Learner learner;
  learner.prepare_inputs = [](auto& t) {
    for (std::size_t i = 0; i < t["W_V"].size(); ++i) {
      for (std::size_t j = 0; j < t["W_V"].size(); ++j) t["W_V"][i][j] = i == j ? 1.0 : 0.0;
    }
  };
  return learner;
}

/// How each mistake is made; the sizes are those of the case.
Learner learner_who_makes(const std::string& mistake, const GoldenCase& golden) {
  const auto columns = [&](const std::string& name) { return static_cast<double>(golden.input(name).shape(1)); };
  const bool from_x = golden.inputs[0].name == "X" && golden.inputs.size() > 1;
  const auto by_root = [](double n) { return scaled_by([=](double) { return 1 / std::sqrt(n); }); };
  const auto reshape = [](const Rows& Q, const Rows& K) { return times(Q, reshaped(K, K.size())); };

  if (mistake == "softmax-over-queries") return softmax_is(softmax_over_queries);
  if (mistake == "softmax-over-everything") return softmax_is(softmax_over_everything);
  if (mistake == "no-softmax-but-row-sums") return softmax_is(row_sums_only);
  if (mistake == "not-normalised") return softmax_is(exponentials_only);
  if (mistake == "no-maximum-subtracted") return softmax_is(no_maximum);
  if (mistake == "softmax-axis-dropped") return softmax_is(axis_dropped);
  if (mistake == "missing-transpose") return score_is(times);
  if (mistake == "features-by-features") {
    return score_is([](const Rows& Q, const Rows& K) { return times(turned(Q), K); });
  }
  if (mistake == "reshaped-not-transposed" || mistake == "keys-reshaped") return score_is(reshape);
  if (mistake == "already-scaled") {
    return score_is([](const Rows& Q, const Rows& K) {
      const double root = std::sqrt(static_cast<double>(Q[0].size()));
      return each(times(Q, turned(K)), [=](double s) { return s / root; });
    });
  }
  if (mistake == "sum-over-queries") return sum_over_queries();
  if (mistake == "queries-and-keys-swapped") return inputs_swapped("Q", "K");
  if (mistake == "keys-and-values-swapped") return inputs_swapped("K", "V");
  if (mistake == "weights-transposed") return weights_are(turned);
  if (mistake == "weights-column-by-column") {
    return weights_are([](const Rows& W) { return reshaped(turned(W), W[0].size()); });
  }
  if (mistake == "values-not-projected") return values_not_projected();
  if (mistake == "not-scaled") return scaled_by([](double) { return 1.0; });
  if (mistake == "divided-by-d_k") return scaled_by([](double d_k) { return 1 / d_k; });
  if (mistake == "multiplied-by-root-d_k") return scaled_by([](double d_k) { return std::sqrt(d_k); });
  if (mistake == "scaled-after-softmax") return scaled_after_softmax(from_x ? columns("W_Q") : columns("Q"));
  if (mistake == "scaled-by-root-d_v") return by_root(from_x ? columns("W_V") : columns("V"));
  if (mistake == "scaled-by-root-d_model") return by_root(columns("X"));
  if (mistake == "scaled-by-root-n") return by_root(static_cast<double>(golden.input("X").shape(0)));
  if (mistake == "scaled-by-root-n_k") return by_root(static_cast<double>(golden.input("K").shape(0)));
  FAIL("nobody knows how to make the mistake " << mistake);
  return {};
}

}  // namespace

TEST_CASE("without a mistake, the learner of these tests is right", "[mistakes]") {
  for (const auto& folder : list_cases(tests::golden_folder)) {
    const GoldenCase golden = load_case(folder);
    if (golden.mistakes.empty()) continue;
    INFO(golden.name);
    CHECK(check(golden, Learner().attend(golden)).passed);
  }
}

TEST_CASE("every known mistake is recognised, and no other is named", "[mistakes]") {
  std::size_t made = 0;
  for (const auto& folder : list_cases(tests::golden_folder)) {
    const GoldenCase golden = load_case(folder);
    for (const Mistake& mistake : golden.mistakes) {
      INFO(golden.name << ": " << mistake.name);
      const auto tensors = learner_who_makes(mistake.name, golden).attend(golden);
      const Report report = check(golden, tensors);
      CHECK_FALSE(report.passed);
      REQUIRE(report.mistakes.size() == 1);
      CHECK(report.mistakes[0].name == mistake.name);
      // The output alone is enough.
      const Report brief = check(golden, {{"output", tensors.at("output")}});
      REQUIRE(brief.mistakes.size() == 1);
      CHECK(brief.mistakes[0].name == mistake.name);
      ++made;
    }
  }
  CHECK(made >= 80);
}

TEST_CASE("mistakes lie at least 100 tolerances from the truth and from each other", "[mistakes]") {
  for (const auto& folder : list_cases(tests::golden_folder)) {
    const GoldenCase golden = load_case(folder);
    const Tolerance far = {100 * golden.tolerance.float32, 100 * golden.tolerance.float32, ""};
    for (const Mistake& a : golden.mistakes) {
      INFO(golden.name << ": " << a.name);
      CHECK(compare(a.tensors.at("output"), golden.outputs.back().value, far));
      for (const Mistake& b : golden.mistakes) {
        if (a.name >= b.name) continue;
        INFO(b.name);
        CHECK(compare(a.tensors.at("output"), b.tensors.at("output"), far));
      }
    }
  }
}
