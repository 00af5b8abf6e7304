// Which front-end reads the bytes of a model, and the error for bytes that are no model: an empty
// file, a text, an .xml without XML, the weights of an IR, files of other formats.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/expected.h"

namespace scanloom {

enum class ModelFormat : std::uint8_t { onnx, openvino };

/// By the bytes, whatever the file is called; `path` may be empty. Error: they are surely no model.
Expected<ModelFormat> format_of(std::string_view bytes, const std::string& path);

/// The error for a file that Function::load is given and Function::save has not written.
Error no_function(std::string_view bytes, const std::string& path);

/// Returns the name of the file in quotes; "the model" where the path is empty.
std::string described_file(const std::string& path);

/// Returns advice for a file that holds no model and is named as weights are; else empty.
std::string described_weights(const std::string& path);

}  // namespace scanloom
