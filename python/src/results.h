// Results as numpy arrays that own the memory of the result; nothing is copied unless the library
// or a stream still reads that memory.
#pragma once

#include <nanobind/nanobind.h>

#include <scanloom/session.h>

namespace scanloom::python {

namespace nb = nanobind;

/// A writable array. Takes the value, so that a result nobody else holds need not be copied.
nb::object to_array(Value value);

}  // namespace scanloom::python
