// Nodes between dequantize_linear and quantize_linear that only move elements, or select the
// greatest: they do the same to bytes. Used by fuse_quantized.
#pragma once

#include <functional>

#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {

/// Whether a value is read once.
using ReadOnce = std::function<bool(ir::ValueId)>;

/// Returns the result of a quantize_linear node, computed by moving bytes, or the bytes themselves
/// if they are dequantized and quantized by the same constants. Invalid if there is no such form.
/// Same bits. Precondition: the node has one scale, and one zero point of u8 or i8.
Expected<ir::ValueId> moved_bytes(Rewriter& rewriter, const ReadOnce& read_once,
                                  const ir::Node& quantize);

}  // namespace scanloom::passes
