// Parsers of the small messages of an ONNX file, used by those of the large ones (proto.cpp).
#pragma once

#include <string_view>

#include "frontends/onnx/proto.h"

namespace scanloom::onnx {

class Wire;

/// Error (invalid_model), naming the kind of message, if its bytes are malformed.
Expected<void> finished(const Wire& wire, std::string_view message);

Expected<TypeProto> parse_type(std::string_view bytes);
Expected<EntryProto> parse_entry(std::string_view bytes);
Expected<OpsetProto> parse_opset(std::string_view bytes);
Expected<ValueInfoProto> parse_value_info(std::string_view bytes);
Expected<SparseTensorProto> parse_sparse_tensor(std::string_view bytes);

}  // namespace scanloom::onnx
