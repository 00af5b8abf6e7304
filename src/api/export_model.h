// A module as files of another format: what convert() and Function have in common.
#pragma once

#include <cstdint>
#include <string>

#include <scanloom/convert.h>

#include "exporters/write_options.h"
#include "ir/module.h"

namespace scanloom {

enum class Format : std::uint8_t { onnx, openvino };

/// By the extension. Error: invalid_argument.
Expected<Format> format_of(const std::string& path);

/// What the arguments and results of a module are called outside: the names that users see, made
/// distinct where two are the same, and those of its states.
exporters::WriteOptions names_of(const ir::Module& module);

/// Writes the module, which is prepared, all its files or none. Errors: invalid_argument (a file
/// cannot be written, or would replace one that belongs to another model), unsupported.
Expected<void> export_model(const ir::Module& module, const exporters::WriteOptions& names,
                            const std::string& path, Format format, const ConvertOptions& options);

}  // namespace scanloom
