#include "attn/engine/backend/wide_norm.hpp"

#include <cmath>

namespace attn::engine {
namespace {

struct WideMoments {
  double mean = 0.0, squares = 0.0;
};

WideMoments wide_moments(const float* x, std::size_t n) {
  WideMoments moments;
  for (std::size_t i = 0; i < n; ++i) moments.mean += static_cast<double>(x[i]);
  moments.mean /= static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double apart = static_cast<double>(x[i]) - moments.mean;
    moments.squares += apart * apart;
  }
  return moments;
}

double divisor(WideMoments moments, NormForm form, std::size_t n) {
  const double width = static_cast<double>(n), epsilon = static_cast<double>(form.epsilon);
  if (form.form == attn::NormForm::annotated) return std::sqrt(moments.squares / (width - 1.0)) + epsilon;
  return std::sqrt(moments.squares / width + epsilon);
}

}  // namespace

void wide_norm(const float* x, const float* gamma, const float* beta, NormForm form, float* y, float* stats,
               std::size_t n) {
  const WideMoments moments = wide_moments(x, n);
  const double inverse = 1.0 / divisor(moments, form, n);
  for (std::size_t i = 0; i < n; ++i) {
    y[i] =
        static_cast<float>((static_cast<double>(x[i]) - moments.mean) * inverse * static_cast<double>(gamma[i]) +
                           static_cast<double>(beta[i]));
  }
  stats[0] = static_cast<float>(moments.mean);
  stats[1] = static_cast<float>(inverse);
}

void wide_norm_backward(const float* x, const float* gamma, NormForm form, const float* dy, bool add, float* dx,
                        float* dgamma, float* dbeta, std::size_t n) {
  const WideMoments moments = wide_moments(x, n);
  const double width = static_cast<double>(n), inverse = 1.0 / divisor(moments, form, n);
  double plain = 0.0, normed = 0.0;  // sums of dy gamma, and of dy gamma times the normed x
  for (std::size_t i = 0; i < n; ++i) {
    const double x_normed = (static_cast<double>(x[i]) - moments.mean) * inverse;
    const double g = static_cast<double>(dy[i]) * static_cast<double>(gamma[i]);
    dgamma[i] += static_cast<float>(static_cast<double>(dy[i]) * x_normed);
    dbeta[i] += dy[i];
    plain += g, normed += g * x_normed;
  }
  double slope = normed * inverse / width;  // of the divisor
  if (form.form == attn::NormForm::annotated) {
    const double deviation = std::sqrt(moments.squares / (width - 1.0));
    slope = deviation > 0.0 ? normed / (deviation * (width - 1.0)) : 0.0;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double x_normed = (static_cast<double>(x[i]) - moments.mean) * inverse;
    const double g = static_cast<double>(dy[i]) * static_cast<double>(gamma[i]);
    const auto gradient = static_cast<float>(inverse * (g - plain / width) - slope * x_normed);
    dx[i] = add ? dx[i] + gradient : gradient;
  }
}

}  // namespace attn::engine
