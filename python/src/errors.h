// Error values of the library as Python exceptions, one class per code (scanloom/_errors.py).
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

#include <scanloom/expected.h>

namespace scanloom::python {

namespace nb = nanobind;

/// The exception that stands for `error`, not raised.
nb::object to_exception(const Error& error);

/// Raises the exception that stands for `error`.
[[noreturn]] void raise(const Error& error);

/// The same for errors of expressions, with numpy's names of element types in it.
[[noreturn]] void raise_of_expression(const Error& error);

/// The value, or the error raised as an exception.
template <class T>
T value_or_raise(Expected<T> expected) {
  if (!expected) raise(expected.error());
  return std::move(*expected);
}

}  // namespace scanloom::python
