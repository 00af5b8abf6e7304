// Chooses the front-end for the bytes of a model, and makes the error for bytes that are no model:
// an empty file, a text, an .xml without XML, the weights of an IR, files of other formats.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/expected.h"

namespace scanloom {

enum class ModelFormat : std::uint8_t { onnx, openvino };

/// Decides by the bytes, regardless of the file's name; `path` may be empty. Error: they are
/// certainly not a model.
Expected<ModelFormat> format_of(std::string_view bytes, const std::string& path);

/// The error for a file passed to Function::load that Function::save did not write.
Error no_function(std::string_view bytes, const std::string& path);

/// Returns the name of the file in quotes; "the model" if the path is empty.
std::string described_file(const std::string& path);

/// Returns advice for a file without a model that is named like a weights file; else empty.
std::string described_weights(const std::string& path);

}  // namespace scanloom
