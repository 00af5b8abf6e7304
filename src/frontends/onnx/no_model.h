// Explains why bytes are not an ONNX model: truncated, or a different message in the same encoding.
// Used only after reading has failed.
#pragma once

#include <string_view>

#include "frontends/onnx/read.h"

namespace scanloom::onnx {

/// Whether the outermost message appears to be a complete ModelProto, so that the mistake is inside
/// it.
bool is_whole_model(std::string_view bytes);

/// Returns the error for bytes that are not: what they are instead, and what to do. `mistake` says
/// where reading stopped.
Error no_model(std::string_view bytes, const ReadOptions& options, const Error& mistake);

}  // namespace scanloom::onnx
