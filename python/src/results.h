// Results as Python objects: numpy arrays that own the memory of the result (nothing is copied
// unless the library or a stream still reads that memory), lists of them for sequences, None for
// empty optionals, arrays of str for strings.
#pragma once

#include <nanobind/nanobind.h>

#include <scanloom/session.h>

namespace scanloom::python {

namespace nb = nanobind;

/// Arrays are writable. Takes the value, so that a result nobody else holds need not be copied.
nb::object to_object(Value value);

}  // namespace scanloom::python
