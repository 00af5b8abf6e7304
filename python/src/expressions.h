// Bindings of expressions, and helpers that the other binding sources share.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>
#include <vector>

#include <scanloom/expr.h>

#include "errors.h"

namespace scanloom::python {

/// Returns the expression, or raises the error that it holds.
inline Expr checked(Expr x) {
  if (x.defined() && x.error() != nullptr) raise_of_expression(*x.error());
  return x;
}

/// Returns numpy's name of an element type, such as "float64", or ONNX's if numpy has none.
std::string numpy_name(DType dtype);
/// Parses numpy's name of an element type. Raises InvalidArgument for an unknown one.
DType dtype_of_numpy(std::string_view name);

void bind_expressions(nanobind::module_& module);
void bind_graphs(nanobind::module_& module);
void bind_gradients(nanobind::module_& module);
void bind_functions(nanobind::module_& module);
void bind_scanning(nanobind::module_& module);

}  // namespace scanloom::python
