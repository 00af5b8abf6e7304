// Compiled functions and the elements of their results, for tests of expressions.
#pragma once

#include <vector>

#include <scanloom/function.h>

namespace scanloom {

inline Function compiled(const std::vector<Expr>& inputs, const std::vector<Expr>& outputs,
                         FunctionOptions options = {}) {
  return Function::compile(inputs, outputs, options).value_or_throw();
}

template <class T = double>
std::vector<T> elements(const Value& value) {
  const auto all = value.as<T>();
  return {all.begin(), all.end()};
}

}  // namespace scanloom
