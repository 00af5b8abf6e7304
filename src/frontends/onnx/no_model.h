// What bytes are that hold no model of ONNX: one that is cut off, or a message of another kind in
// the same encoding. Looked at only after reading has failed.
#pragma once

#include <string_view>

#include "frontends/onnx/read.h"

namespace scanloom::onnx {

/// Whether the outermost message, as far as it can be told, is a whole ModelProto: what is wrong
/// with it is inside.
bool is_whole_model(std::string_view bytes);

/// The error of bytes for which that does not hold: what they are instead, and what to do.
/// `mistake` says where reading stopped.
Error no_model(std::string_view bytes, const ReadOptions& options, const Error& mistake);

}  // namespace scanloom::onnx
