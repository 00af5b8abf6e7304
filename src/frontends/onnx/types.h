// Converts the types declared in a model to types of the IR.
#pragma once

#include "frontends/onnx/proto.h"
#include "tensor/type.h"

namespace scanloom::onnx {

/// Sizes that are absent, zero or negative (which exporters write for unknown ones) become fresh
/// symbols. Names of other sizes are global to the model. Errors: invalid_model (no type, unknown
/// element type), unsupported (sparse and opaque types, maps with other keys than int64 and strings
/// or other values than scalars, too many axes).
Expected<tensor::Type> make_type(const TypeProto& proto, tensor::DimTable& dims);

/// Returns the element type in ONNX's words, for messages: "float", "sequence(int64)".
std::string describe_elements(const tensor::Type& type);

/// Error (invalid_model): the known sizes of a tensor rule out that it has one element.
Expected<void> check_one_element(const std::string& what, const tensor::Type& type);

}  // namespace scanloom::onnx
