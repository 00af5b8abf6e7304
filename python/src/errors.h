// Conversion of the library's errors to Python exceptions, one class per code
// (scanloom/_errors.py).
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

#include <scanloom/expected.h>

namespace scanloom::python {

namespace nb = nanobind;

/// Returns the exception for `error`, without raising it.
nb::object to_exception(const Error& error);

/// The same for an error of an expression, with numpy's names of element types.
nb::object to_exception_of_expression(const Error& error);

/// Raises the exception for `error`.
[[noreturn]] void raise(const Error& error);

/// Raises the exception for an error of an expression, with numpy's names of element types.
[[noreturn]] void raise_of_expression(const Error& error);

/// Returns the value, or raises the error.
template <class T>
T value_or_raise(Expected<T> expected) {
  if (!expected) raise(expected.error());
  return std::move(*expected);
}

}  // namespace scanloom::python
