#include "attn/engine/backend/kernels.hpp"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>

// Without knowing the processor a compiler uses only what all of them have. g++ makes each function three times,
// and the right one is chosen when the program starts. (Under sanitizers it would be chosen before they are
// ready.)
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define ATTN_KERNEL __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#define ATTN_INLINE inline __attribute__((always_inline))
#else
#define ATTN_KERNEL
#define ATTN_INLINE inline
#endif

namespace attn::engine::kernels {
namespace {

/// e^x to about one part in ten million: 2^k times the series of e on half an octave. Below -87 it gives 1e-38 and
/// not 0; above 88, what it gives at 88.
ATTN_INLINE float exponential(float x) {
  const float clamped = std::min(std::max(x, -87.0f), 88.0f);
  const float k = std::rint(clamped == clamped ? clamped * 1.44269504f : 0.0f);  // NaN goes on in the polynomial
  const float r = clamped - k * (355.0f / 512) - k * -2.12194440e-4f;  // ln 2 in two parts, the first one exact
  float p = 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  return p * std::bit_cast<float>((static_cast<std::int32_t>(k) + 127) << 23);
}

}  // namespace

ATTN_KERNEL void multiply(const float* x, const float* f, float* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] = x[i] * f[i];
}

ATTN_KERNEL void add(const float* x, float* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] += x[i];
}

ATTN_KERNEL void add_scaled(float s, const float* x, float* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] += s * x[i];
}

ATTN_KERNEL void blend(float s, const float* x, float* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] += s * (x[i] - y[i]);
}

ATTN_KERNEL void bias_relu(float* x, const float* bias, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const float sum = x[i] + bias[i];
    x[i] = sum < 0.0f ? 0.0f : sum;
  }
}

ATTN_KERNEL void bias_swish(float* x, const float* bias, float* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    x[i] += bias[i];
    y[i] = x[i] / (1.0f + exponential(-x[i]));
  }
}

ATTN_KERNEL void note_positive(const float* y, unsigned char* open, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) open[i] = y[i] > 0.0f ? 1 : 0;
}

ATTN_KERNEL void relu_backward(float s, const unsigned char* open, float* dy, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) dy[i] = open[i] != 0 ? s * dy[i] : 0.0f;
}

ATTN_KERNEL void swish_backward(const float* x, float* dy, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const float s = 1.0f / (1.0f + exponential(-x[i]));
    dy[i] *= s * (1.0f + x[i] * (1.0f - s));
  }
}

ATTN_KERNEL void residual(const float* x, const float* bias, const float* factors, float* f, std::size_t n) {
  if (bias != nullptr) add(bias, f, n);
  if (factors != nullptr) multiply(f, factors, f, n);
  add(x, f, n);
}

ATTN_KERNEL Moments moments(const float* x, std::size_t n) {
  float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < n; ++i) sum += x[i];
  const float nearly = sum / static_cast<float>(n);
  float rest = 0.0f;  // what rounding left, so that a constant row has a mean that is exactly that constant
#pragma omp simd reduction(+ : rest)
  for (std::size_t i = 0; i < n; ++i) rest += x[i] - nearly;
  const float mean = nearly + rest / static_cast<float>(n);
  float squares = 0.0f;
#pragma omp simd reduction(+ : squares)
  for (std::size_t i = 0; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean);
  return {mean, squares};
}

ATTN_KERNEL void norm(const float* x, float mean, float inverse, const float* gamma, const float* beta, float* y,
                      std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * inverse * gamma[i] + beta[i];
}

ATTN_KERNEL NormSums norm_backward_sums(const float* x, float mean, float inverse, const float* gamma,
                                        const float* dy, float* dgamma, float* dbeta, std::size_t n) {
  float plain = 0.0f, normed = 0.0f;
#pragma omp simd reduction(+ : plain, normed)
  for (std::size_t i = 0; i < n; ++i) {
    const float x_normed = (x[i] - mean) * inverse, g = dy[i] * gamma[i];
    dgamma[i] += dy[i] * x_normed;
    dbeta[i] += dy[i];
    plain += g;
    normed += g * x_normed;
  }
  return {plain, normed};
}

ATTN_KERNEL void norm_backward(const float* x, float mean, float inverse, const float* gamma, const float* dy,
                               float a, float b, bool add, float* dx, std::size_t n) {
  if (add) {
    for (std::size_t i = 0; i < n; ++i) {
      dx[i] += inverse * (dy[i] * gamma[i] - a) - b * (x[i] - mean) * inverse;
    }
  } else {
    for (std::size_t i = 0; i < n; ++i) dx[i] = inverse * (dy[i] * gamma[i] - a) - b * (x[i] - mean) * inverse;
  }
}

ATTN_KERNEL void softmax(float* x, std::size_t visible, std::size_t n) {
  float largest = -INFINITY;
#pragma omp simd reduction(max : largest)
  for (std::size_t i = 0; i < visible; ++i) largest = x[i] > largest ? x[i] : largest;
  if (largest <= -FLT_MAX) {  // perhaps nothing may be looked at (some compilers begin a maximum at -FLT_MAX)
    bool all = true;
    for (std::size_t i = 0; i < visible; ++i) all = all && x[i] == -INFINITY;
    if (all) {
      std::fill_n(x, n, 0.0f);
      return;
    }
  }
  float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < visible; ++i) sum += x[i] = exponential(x[i] - largest);
  const float inverse = 1.0f / sum;
  for (std::size_t i = 0; i < visible; ++i) x[i] *= inverse;
  for (std::size_t i = visible; i < n; ++i) x[i] = 0.0f;
}

ATTN_KERNEL void softmax_backward(const float* A, float* dA, float scale, std::size_t n) {
  float both = 0.0f;
#pragma omp simd reduction(+ : both)
  for (std::size_t i = 0; i < n; ++i) both += A[i] * dA[i];
  for (std::size_t i = 0; i < n; ++i) dA[i] = A[i] * (dA[i] - both) * scale;
}

ATTN_KERNEL Extent extent(const float* x, std::size_t n) {
  float largest = -INFINITY, total = 0.0f;
#pragma omp simd reduction(max : largest) reduction(+ : total)
  for (std::size_t i = 0; i < n; ++i) {
    largest = x[i] > largest ? x[i] : largest;
    total += x[i];
  }
  return {largest, total};
}

ATTN_KERNEL float sum_of_exponentials(const float* x, float shift, std::size_t n) {
  float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < n; ++i) sum += exponential(x[i] - shift);
  return sum;
}

ATTN_KERNEL float exponentials(float* x, float shift, std::size_t n) {
  float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < n; ++i) sum += x[i] = exponential(x[i] - shift);
  return sum;
}

ATTN_KERNEL void scale_and_shift(float* x, float s, float c, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) x[i] = s * x[i] - c;
}

ATTN_KERNEL double sum_of_squares(const float* x, std::size_t n) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * x[i];
  return sum;
}

ATTN_KERNEL void adam(const Adam& step, float* theta, float* gradient, float* mean, float* square, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const float g = gradient[i] * step.gradient_scale;
    gradient[i] = 0.0f;
    mean[i] = step.keep_1 * mean[i] + step.take_1 * g;
    square[i] = step.keep_2 * square[i] + step.take_2 * g * g;
    theta[i] -= step.rate * mean[i] / (std::sqrt(square[i]) * step.root_scale + step.epsilon);
  }
}

}  // namespace attn::engine::kernels
