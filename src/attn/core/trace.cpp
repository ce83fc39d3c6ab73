#include "attn/core/trace.hpp"

#include <algorithm>
#include <utility>

#include "attn/core/errors.hpp"

namespace attn {
namespace {

thread_local Trace* collector = nullptr;
thread_local std::string prefix;

}  // namespace

Trace::Trace() : outer_(collector) { collector = this; }

Trace::~Trace() { collector = outer_; }

const Matrix& Trace::operator[](std::string_view name) const {
  const auto is_it = [&](const NamedMatrix& tensor) { return tensor.name == name; };
  const auto found = std::find_if(tensors_.rbegin(), tensors_.rend(), is_it);
  if (found == tensors_.rend()) {
    std::string names;
    for (const NamedMatrix& tensor : tensors_) names += (names.empty() ? "" : ", ") + tensor.name;
    refuse("trace", "one of the tensors " + names, std::string(name));
  }
  return found->value;
}

const Matrix& trace(std::string_view name, const Matrix& value) {
  if (collector != nullptr) collector->tensors_.push_back({prefix + std::string(name), value});
  return value;
}

Matrix trace(std::string_view name, Matrix&& value) {
  trace(name, std::as_const(value));
  return std::move(value);
}

TraceScope::TraceScope(std::string_view name) : length_before_(prefix.size()) { prefix.append(name).append("."); }

TraceScope::~TraceScope() { prefix.resize(length_before_); }

}  // namespace attn
