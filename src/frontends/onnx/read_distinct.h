// Reads a model whose named sizes are not what their names claim.
#pragma once

#include "frontends/onnx/read.h"

namespace scanloom::onnx {

/// Like read_model(), except that sizes of inputs are not made equal by sharing a name: only the
/// first one keeps it.
Expected<ir::Module> read_with_distinct_sizes(std::shared_ptr<const void> owner,
                                              std::string_view bytes, const ReadOptions& options,
                                              Diagnostics& diagnostics, ModelInfo* info = nullptr);

}  // namespace scanloom::onnx
