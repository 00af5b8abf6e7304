// Declared types of a model as types of the IR.
#pragma once

#include "frontends/onnx/proto.h"
#include "tensor/type.h"

namespace scanloom::onnx {

/// Sizes that are absent, zero or negative (which exporters write for unknown ones) become fresh
/// symbols; the names of the others are global to the model. Errors: invalid_model (no type,
/// unknown element type), unsupported (maps, sparse and opaque types, too many axes).
Expected<tensor::Type> make_type(const TypeProto& proto, tensor::DimTable& dims);

/// "float", "sequence(int64)": the element type in ONNX's words, for messages.
std::string describe_elements(const tensor::Type& type);

/// Error: invalid_model, where a tensor cannot have one element by what is known of its sizes.
Expected<void> check_one_element(const std::string& what, const tensor::Type& type);

}  // namespace scanloom::onnx
