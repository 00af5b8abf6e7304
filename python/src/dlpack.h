// DLPack import and export, also for element types that only ml_dtypes has.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

namespace scanloom::python {

namespace nb = nanobind;

/// Returns (array, ONNX name of the element type) over the memory of a DLPack exporter or capsule.
/// Types that numpy lacks are returned as unsigned integers of the same size. Raises
/// InvalidArgument.
nb::tuple from_dlpack(nb::handle source);

/// Returns a capsule over the memory of `bits`, an array of unsigned integers that represent
/// elements of the named type. Raises Unsupported for types that DLPack lacks or packs.
nb::object to_dlpack(nb::handle bits, const std::string& onnx_name);

}  // namespace scanloom::python
