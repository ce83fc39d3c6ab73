/// @file
/// @brief The inner loops of the CPU: plain loops over one row, on one thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace attn::engine::kernels {

/// @cond
// What the CPU backend alone calls; it is described where the operations are.

/// The numbers that dropout multiplies a row with, as attn::Dropout::factor() gives them.
/// @param factors      count numbers: 0 or 1/(1-p)
/// @param count        how many
/// @param p            the share that is dropped
/// @param key          the seed, in two halves
/// @param counter      site, step, sequence
/// @param first_index  of the first number
void dropout_factors(float* factors, std::size_t count, double p, const std::uint32_t key[2],
                     const std::uint32_t counter[3], std::uint32_t first_index);

/// y = x f
void multiply(const float* x, const float* f, float* y, std::size_t n);

/// y += x
void add(const float* x, float* y, std::size_t n);

/// y += s x
void add_scaled(float s, const float* x, float* y, std::size_t n);

/// y += s (x - y)
void blend(float s, const float* x, float* y, std::size_t n);

/// x = max(0, x + b)
void bias_relu(float* x, const float* bias, std::size_t n);

/// x += b; y = x / (1 + e^-x)
void bias_swish(float* x, const float* bias, float* y, std::size_t n);

/// 1 where y is positive, and 0 elsewhere
void note_positive(const float* y, unsigned char* open, std::size_t n);

/// dy becomes s dy where it is open, and 0 elsewhere.
void relu_backward(float s, const unsigned char* open, float* dy, std::size_t n);

/// dy *= the slope of swish at x
void swish_backward(const float* x, float* dy, std::size_t n);

/// f = x + (f + b) factors; b and factors may be nullptr
void residual(const float* x, const float* bias, const float* factors, float* f, std::size_t n);

/// Mean, and the sum of the squares of what is apart from it.
struct Moments {
  float mean = 0.0f;     ///< of the row
  float squares = 0.0f;  ///< the sum
};

/// In two passes.
Moments moments(const float* x, std::size_t n);

/// y = (x - mean) inverse gamma + beta
void norm(const float* x, float mean, float inverse, const float* gamma, const float* beta, float* y,
          std::size_t n);

/// The two sums of the way back: of dy gamma, and of dy gamma times the normed x; adds to dgamma and dbeta.
struct NormSums {
  float plain = 0.0f;   ///< of dy gamma
  float normed = 0.0f;  ///< of dy gamma times the normed x
};

/// Reads a row of dy and x once.
NormSums norm_backward_sums(const float* x, float mean, float inverse, const float* gamma, const float* dy,
                            float* dgamma, float* dbeta, std::size_t n);

/// dx (+)= inverse (dy gamma - a) - b (x - mean) inverse
void norm_backward(const float* x, float mean, float inverse, const float* gamma, const float* dy, float a,
                   float b, bool add, float* dx, std::size_t n);

/// x becomes softmax(x) over the first `visible` numbers; the others become 0.
void softmax(float* x, std::size_t visible, std::size_t n);

/// dA becomes dS = A (dA - A·dA) scale
void softmax_backward(const float* A, float* dA, float scale, std::size_t n);

/// The largest number of a row, and the sum of all.
struct Extent {
  float largest = 0.0f;  ///< of the row
  float total = 0.0f;    ///< the sum
};

/// Reads a row once.
Extent extent(const float* x, std::size_t n);

/// The sum of e^(x - shift).
float sum_of_exponentials(const float* x, float shift, std::size_t n);

/// The same; x becomes e^(x - shift).
float exponentials(float* x, float shift, std::size_t n);

/// x = s x - c
void scale_and_shift(float* x, float s, float c, std::size_t n);

/// The sum of squares, in double.
double sum_of_squares(const float* x, std::size_t n);

/// One update of Adam, with the corrections of its means already in the rates.
struct Adam {
  float gradient_scale;  ///< what a gradient is multiplied with first
  float keep_1;          ///< of the mean
  float take_1;          ///< 1 - keep_1
  float keep_2;          ///< of the mean square
  float take_2;          ///< 1 - keep_2
  float rate;            ///< the rate over the correction of the mean
  float root_scale;      ///< one over the root of the correction of the square
  float epsilon;         ///< added to the root
};

/// theta -= rate m / (sqrt(v) root_scale + epsilon); the gradient becomes 0
void adam(const Adam& step, float* theta, float* gradient, float* mean, float* square, std::size_t n);

/// @endcond

}  // namespace attn::engine::kernels
