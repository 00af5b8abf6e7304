// Writes a module as files of another format: shared by convert() and Function.
#pragma once

#include <cstdint>
#include <string>

#include <scanloom/convert.h>

#include "exporters/write_options.h"
#include "ir/module.h"

namespace scanloom {

enum class Format : std::uint8_t { onnx, openvino };

/// The format given by the extension. Error: invalid_argument.
Expected<Format> format_of(const std::string& path);

/// The external names of a module's arguments, results and states: the names that users see, made
/// unique.
exporters::WriteOptions names_of(const ir::Module& module);

/// Writes the module, which must be prepared: all of its files or none. Errors: invalid_argument (a
/// file cannot be written, or would replace one that belongs to another model), unsupported.
Expected<void> export_model(const ir::Module& module, const exporters::WriteOptions& names,
                            const std::string& path, Format format, const ConvertOptions& options);

}  // namespace scanloom
