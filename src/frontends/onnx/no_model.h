// Explains bytes that hold no model of ONNX: one that is cut off, or a message of another kind in
// the same encoding. Used only after reading has failed.
#pragma once

#include <string_view>

#include "frontends/onnx/read.h"

namespace scanloom::onnx {

/// Whether the outermost message, as far as can be seen, is a whole ModelProto: then the mistake is
/// inside it.
bool is_whole_model(std::string_view bytes);

/// Returns the error for other bytes: what they are instead, and what to do. `mistake` says where
/// reading stopped.
Error no_model(std::string_view bytes, const ReadOptions& options, const Error& mistake);

}  // namespace scanloom::onnx
