// Every known mistake must be recognised, and no other named. Those of chapters 1 to 3 are made once on purpose in
// plain loops; many of the later ones by giving the reference something wrong; the rest are taken from their
// files.
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "attn/core/trace.hpp"
#include "attn/golden/check.hpp"
#include "golden_folder.hpp"
#include "matrices.hpp"
#include "operations.hpp"

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

// ---- Mistakes of chapters 4 to 10: the right function, given something wrong --------------------------------

Tensor& input_of(GoldenCase& golden, const std::string& name) {
  for (GoldenTensor& tensor : golden.inputs) {
    if (tensor.name == name) return tensor.value;
  }
  FAIL(golden.name << " has no input " << name);
  return golden.inputs[0].value;
}

using Change = std::function<void(GoldenCase&)>;

Change swapped(const std::vector<std::pair<std::string, std::string>>& pairs) {
  return [=](GoldenCase& golden) {
    for (const auto& [a, b] : pairs) std::swap(input_of(golden, a), input_of(golden, b));
  };
}

Change mapped(const std::vector<std::string>& names, const std::function<Matrix(const Matrix&)>& f) {
  return [=](GoldenCase& golden) {
    for (const std::string& name : names) input_of(golden, name) = to_tensor(f(golden.input(name)));
  };
}

Change zero(const std::vector<std::string>& names) {
  return mapped(names, [](const Matrix& A) { return Matrix(xt::zeros_like(A)); });
}

Change identity_for(const std::vector<std::string>& names) {
  return mapped(names, [](const Matrix& A) { return identity(A.shape(0)); });
}

Change set(const std::string& setting, const std::string& value) {
  return [=](GoldenCase& golden) { golden.settings[setting] = value; };
}

/// Changes entry (i, j) of a mask to what f says, knowing the mask as it was.
Change masked(const std::string& name,
              const std::function<bool(const std::vector<std::vector<bool>>&, std::size_t, std::size_t)>& f) {
  return [=](GoldenCase& golden) {
    Tensor& tensor = input_of(golden, name);
    auto& values = std::get<std::vector<Bool>>(tensor.values);
    const std::size_t columns = tensor.shape[1];
    std::vector<std::vector<bool>> was(tensor.shape[0], std::vector<bool>(columns));
    for (std::size_t k = 0; k < values.size(); ++k) was[k / columns][k % columns] = values[k] == Bool::yes;
    for (std::size_t k = 0; k < values.size(); ++k) {
      values[k] = f(was, k / columns, k % columns) ? Bool::yes : Bool::no;
    }
  };
}

std::string mask_of(const GoldenCase& golden) { return golden.has_input("mask") ? "mask" : "self_mask"; }

/// What to change in a case so that the right function makes the mistake; empty where nobody knows.
Change change_for(const std::string& mistake, const GoldenCase& golden) {
  const std::string mask = mask_of(golden);
  const bool in_layer = golden.chapter == 8;
  const std::vector<std::string> norms = {"self.norm", "feed_forward.norm"};
  using Was = std::vector<std::vector<bool>>;
  const auto all = [](const Was&, std::size_t, std::size_t) { return true; };
  const auto turned_round = [](const Was& was, std::size_t i, std::size_t j) { return !was[i][j]; };
  const auto across = [](const Was& was, std::size_t i, std::size_t j) { return bool(was[j][i]); };
  const auto before_only = [](const Was& was, std::size_t i, std::size_t j) { return was[i][j] && i != j; };
  const auto exchange_norms = [&](const std::string& a, const std::string& b) {
    return swapped({{a + ".gamma", b + ".gamma"}, {a + ".beta", b + ".beta"}});
  };
  const std::map<std::string, Change> changes = {
      {"queries-and-keys-swapped", golden.has_input("W_Q") ? swapped({{"W_Q", "W_K"}}) : Change()},
      {"keys-and-values-swapped", swapped({{"W_K", "W_V"}})},
      {"weights-transposed", mapped({"W_Q", "W_K", "W_V"}, transpose)},
      {"values-not-projected", identity_for({"W_V"})},
      {"memory-not-projected", identity_for({"W_K", "W_V"})},
      {"output-not-projected", identity_for({"W_O"})},
      {"output-weights-transposed", mapped({"W_O"}, transpose)},
      {"biases-forgotten", zero({"b_Q", "b_K", "b_V", "b_O"})},
      {"value-bias-forgotten", zero({in_layer ? "self.b_V" : "b_V"})},
      {"output-bias-forgotten", zero({in_layer              ? "self.b_O"
                                      : golden.chapter == 9 ? "projection.b"
                                                            : "b_O"})},
      {"query-bias-forgotten", zero({"self.b_Q"})},
      {"attention-biases-forgotten", zero({"self.b_Q", "self.b_K", "self.b_V", "self.b_O"})},
      {"feed-forward-biases-forgotten", zero({"feed_forward.b_1", "feed_forward.b_2"})},
      {"heads-not-projected", identity_for({"self.W_O"})},
      {"no-mask", masked(mask, all)},
      {"no-causal-mask", masked(mask, all)},
      {"mask-ignored", masked(mask, all)},
      {"source-mask-missing", masked("cross_mask", all)},
      {"source-mask-turned-round", masked("cross_mask", turned_round)},
      {"mask-turned-round", masked(mask, turned_round)},
      {"mask-transposed", masked(mask, across)},
      {"causal-mask-turned-round", masked(mask, across)},
      {"padding-row-instead-of-column", masked(mask, across)},
      {"without-the-diagonal", masked(mask, before_only)},
      {"one-token-ahead", masked(mask, [](const Was&, std::size_t i, std::size_t j) { return j <= i + 1; })},
      {"causal-mask-in-cross-attention",
       masked("cross_mask", [](const Was&, std::size_t i, std::size_t j) { return j <= i; })},
      {"queries-from-the-memory", swapped({{"x", "memory"}})},
      {"memory-and-x-swapped", swapped({{"x", "memory"}})},
      {"keys-and-values-from-x", [](GoldenCase& g) { input_of(g, "memory") = to_tensor(g.input("x")); }},
      {"counted-from-zero", set("first_position", "0")},
      {"counted-from-one", set("first_position", "1")},
      {"one-too-far", set("first_position", "5001")},
      {"halves-not-interleaved", set("positions", "halves")},
      {"interleaved-not-halves", set("positions", "interleaved")},
      {"gamma-and-beta-swapped", swapped({{"gamma", "beta"}})},
      {"beta-forgotten", zero({"beta"})},
      {"gamma-forgotten", mapped({"gamma"}, [](const Matrix& A) { return Matrix(xt::ones_like(A)); })},
      {"epsilon-1e-5", set("epsilon", "1e-5")},
      {"no-epsilon", set("epsilon", "0")},
      {"standard-form", set("norm", "standard")},
      {"first-bias-forgotten", zero({"b_1"})},
      {"second-bias-forgotten", zero({"b_2"})},
      {"norms-swapped", exchange_norms("self.norm", "feed_forward.norm")},
      {"first-two-norms-swapped", exchange_norms("self.norm", "cross.norm")},
      {"one-norm-used-twice",
       [](GoldenCase& g) {
         for (const std::string part : {".gamma", ".beta"}) {
           input_of(g, "feed_forward.norm" + part) = to_tensor(g.input("self.norm" + part));
         }
       }},
      {"attentions-swapped", swapped({{"self.W_Q", "cross.W_Q"},
                                      {"self.W_K", "cross.W_K"},
                                      {"self.W_V", "cross.W_V"},
                                      {"self.W_O", "cross.W_O"}})},
      {"smoothed-over-all-classes", set("smoothing", "all_classes")},
      {"smoothed-over-the-other-classes", set("smoothing", "other_classes")},
      {"smoothed-over-the-others-but-pad", set("smoothing", "other_classes_but_pad")},
      {"not-smoothed", set("label_smoothing", "0")},
      {"smoothed", set("label_smoothing", "0.1")},
      {"read-as-paper", set("dialect", "paper")},
      {"swish", golden.settings.count("activation") > 0 ? set("activation", "swish") : Change()},
      {"relu", golden.settings.count("activation") > 0 ? set("activation", "relu") : Change()},
  };
  const auto found = changes.find(mistake);
  const bool makes_its_own_masks = golden.function == "transformer" && mistake == "no-causal-mask";
  return found == changes.end() || makes_its_own_masks ? Change() : found->second;
}

/// The same by a switch of the dialect.
std::function<void(Dialect&)> edit_for(const std::string& mistake) {
  const std::map<std::string, std::function<void(Dialect&)>> edits = {
      {"pre-norm", [](Dialect& d) { d.pre_norm = true; }},
      {"pre-norm-for-post-norm", [](Dialect& d) { d.pre_norm = true; }},
      {"post-norm-for-pre-norm", [](Dialect& d) { d.pre_norm = false; }},
      {"extra-final-norm", [](Dialect& d) { d.final_norm = true; }},
      {"embedding-not-scaled", [](Dialect& d) { d.scale_embeddings = false; }},
      {"halves-of-positions", [](Dialect& d) { d.positions = PositionLayout::halves; }},
      {"frequencies-of-the-paper", [](Dialect& d) { d.positions = PositionLayout::halves; }},
      {"positions-from-one", [](Dialect& d) { d.first_position = 1; }},
      {"positions-from-zero", [](Dialect& d) { d.first_position = 0; }},
      {"zero-vector-at-the-start", [](Dialect& d) { d.decoder_start = DecoderStart::zero_vector; }},
      {"swish", [](Dialect& d) { d.activation = Activation::swish; }},
      {"relu", [](Dialect& d) { d.activation = Activation::relu; }},
  };
  const auto found = edits.find(mistake);
  return found == edits.end() ? std::function<void(Dialect&)>() : found->second;
}

/// The outputs of a case with a mistake in it, or nothing where nobody knows how to make it.
std::map<std::string, Tensor> made_by_the_reference(const GoldenCase& golden, const std::string& mistake) {
  GoldenCase changed = golden;
  const Change change = change_for(mistake, golden);
  const auto edit = change ? nullptr : edit_for(mistake);
  const bool trains = golden.function.rfind("training_", 0) == 0;
  if ((!change && !edit) || trains) return {};
  if (change) change(changed);
  Trace trace;
  tests::run(changed, edit);
  std::map<std::string, Tensor> tensors;
  for (const NamedMatrix& tensor : trace.tensors()) tensors[tensor.name] = to_tensor(tensor.value);
  return tensors;
}

/// The outputs as the mistake's files have them, right where it changes nothing.
std::map<std::string, Tensor> made_by_the_files(const GoldenCase& golden, const Mistake& mistake) {
  std::map<std::string, Tensor> tensors = mistake.tensors;
  for (const GoldenTensor& output : golden.outputs) tensors.emplace(output.name, output.value);
  return tensors;
}

void check_recognised(const GoldenCase& golden, const Mistake& mistake,
                      const std::map<std::string, Tensor>& tensors) {
  const Report report = check(golden, tensors);
  CHECK_FALSE(report.passed);
  REQUIRE(report.mistakes.size() == 1);
  CHECK(report.mistakes[0].name == mistake.name);
  // The last tensor alone is enough.
  const std::string& last = golden.outputs.back().name;
  const Report brief = check(golden, {{last, tensors.at(last)}});
  REQUIRE(brief.mistakes.size() == 1);
  CHECK(brief.mistakes[0].name == mistake.name);
}

}  // namespace

TEST_CASE("without a mistake, the learner of these tests is right", "[mistakes]") {
  for (const auto& folder : list_cases(tests::golden_folder)) {
    const GoldenCase golden = load_case(folder);
    if (golden.mistakes.empty() || golden.chapter > 3) continue;
    INFO(golden.name);
    CHECK(check(golden, Learner().attend(golden)).passed);
  }
}

TEST_CASE("every known mistake is recognised, and no other is named", "[mistakes]") {
  std::size_t by_hand = 0, by_reference = 0, by_file = 0;
  for (const auto& folder : list_cases(tests::golden_folder)) {
    const GoldenCase golden = load_case(folder);
    for (const Mistake& mistake : golden.mistakes) {
      INFO(golden.name << ": " << mistake.name);
      if (golden.chapter <= 3) {
        check_recognised(golden, mistake, learner_who_makes(mistake.name, golden).attend(golden));
        ++by_hand;
        continue;
      }
      check_recognised(golden, mistake, made_by_the_files(golden, mistake));
      ++by_file;
      const auto tensors = made_by_the_reference(golden, mistake.name);
      if (tensors.empty()) continue;
      check_recognised(golden, mistake, tensors);
      ++by_reference;
    }
  }
  CHECK(by_hand >= 80);
  CHECK(by_file >= 350);
  CHECK(by_reference >= 130);
}

TEST_CASE("mistakes lie at least 100 tolerances from the truth and from each other", "[mistakes]") {
  for (const auto& folder : list_cases(tests::golden_folder)) {
    const GoldenCase golden = load_case(folder);
    const Tolerance far = {100 * golden.tolerance.float32, 100 * golden.tolerance.float32, ""};
    for (const Mistake& a : golden.mistakes) {
      INFO(golden.name << ": " << a.name);
      CHECK(compare(a.tensors.at(golden.outputs.back().name), golden.outputs.back().value, far));
      for (const Mistake& b : golden.mistakes) {
        if (a.name >= b.name) continue;
        INFO(b.name);
        CHECK(compare(a.tensors.at(golden.outputs.back().name), b.tensors.at(golden.outputs.back().name), far));
      }
    }
  }
}
