// DLPack in and out, for element types that numpy has and for those that only ml_dtypes has.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

namespace scanloom::python {

namespace nb = nanobind;

/// (array, ONNX's name of the element type) over the memory of anything that speaks DLPack, or of a
/// capsule. Types that numpy lacks come as unsigned integers of their size. Raises InvalidArgument.
nb::tuple from_dlpack(nb::handle source);

/// A capsule over the memory of `bits`, unsigned integers that stand for elements of that type.
/// Raises Unsupported for types that DLPack lacks or packs.
nb::object to_dlpack(nb::handle bits, const std::string& onnx_name);

}  // namespace scanloom::python
