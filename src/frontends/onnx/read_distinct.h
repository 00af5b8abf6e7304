// Reading a model whose sizes are not what their names say.
#pragma once

#include "frontends/onnx/read.h"

namespace scanloom::onnx {

/// read_model, but sizes of inputs are not equal because they share a name: the first one keeps it.
Expected<ir::Module> read_with_distinct_sizes(std::shared_ptr<const void> owner,
                                              std::string_view bytes, const ReadOptions& options,
                                              Diagnostics& diagnostics, ModelInfo* info = nullptr);

}  // namespace scanloom::onnx
