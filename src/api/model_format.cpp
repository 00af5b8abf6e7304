#include "api/model_format.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "api/foreign_file.h"
#include "base/utf8.h"
#include "frontends/openvino/read.h"

namespace scanloom {
namespace {

/// How much of a file is examined, and how much of it a message shows.
constexpr std::size_t kExaminedBytes = 512, kShownBytes = 40;

/// An ONNX model must give its IR version, and begins with that field.
constexpr char kOnnxVersionField = '\x08';

/// Compares the extension in either case.
bool has_extension(const std::string& path, std::string_view wanted) {
  std::string extension = std::filesystem::path(path).extension().string();
  std::ranges::transform(extension, extension.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return extension == wanted;
}

/// Whether the bytes are UTF-8 letters, signs and blanks only: an ONNX message never is.
bool is_text(std::string_view bytes) {
  std::string_view seen = bytes.substr(0, kExaminedBytes);
  // The last character examined may be cut in two: leave it out.
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  if (seen.size() < bytes.size() && continues(bytes[seen.size()])) {
    while (!seen.empty() && continues(seen.back())) seen.remove_suffix(1);
    if (!seen.empty()) seen.remove_suffix(1);
  }
  if (to_valid_utf8(seen) != seen) return false;
  return std::ranges::all_of(seen, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 ? byte != 0x7f : c == '\t' || c == '\n' || c == '\r';
  });
}

std::string beginning(std::string_view bytes) {
  const std::string_view line = bytes.substr(0, bytes.find_first_of("\r\n"));
  return shortened(to_valid_utf8(line.substr(0, kExaminedBytes)), kShownBytes);
}

/// Describes a text that is not a model, and what to do; may be empty.
std::string_view describe_text(std::string_view bytes) {
  bytes.remove_prefix(std::min(bytes.find_first_not_of(" \t\r\n"), bytes.size()));
  if (bytes.starts_with('{') || bytes.starts_with('[')) return "; it looks like JSON";
  if (bytes.starts_with("ir_version:"))
    return "; it looks like an ONNX model as protobuf text: load it with onnx.load(FILE, "
           "format='textproto') and save it as .onnx";
  if (bytes.starts_with("node {"))
    return "; it looks like a TensorFlow graph: convert it with tf2onnx";
  return "; if it was downloaded, it may be an error message of the server: download it again";
}

}  // namespace

std::string described_file(const std::string& path) {
  if (path.empty()) return "the model";
  return "'" + to_valid_utf8(std::filesystem::path(path).filename().string()) + "'";
}

std::string described_weights(const std::string& path) {
  if (!has_extension(path, ".bin")) return {};
  const std::filesystem::path graph = std::filesystem::path(path).replace_extension(".xml");
  std::error_code failed;
  const bool exists = std::filesystem::exists(graph, failed);
  return fmt::format(
      "a .bin holds the weights of an OpenVINO IR, whose .xml is the model: load {}{}",
      described_file(graph.string()), exists ? "" : ", which is missing there");
}

Expected<ModelFormat> format_of(std::string_view bytes, const std::string& path) {
  const std::string what = described_file(path);
  if (bytes.empty())
    return invalid_model("{} is empty: it has 0 bytes; download or copy it again", what);
  if (const std::string foreign = describe_foreign(bytes); !foreign.empty())
    return invalid_model("{} {}", what, foreign);
  if (bytes.front() == kOnnxVersionField) return ModelFormat::onnx;
  if (openvino::is_openvino(bytes)) return ModelFormat::openvino;
  if (bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff"))
    return invalid_model("{} is UTF-16 text; an OpenVINO IR is XML in UTF-8", what);
  if (bytes.starts_with("version ") &&
      bytes.substr(0, kExaminedBytes).find("git-lfs") != std::string::npos)
    return invalid_model(
        "{} is a Git LFS pointer of {} bytes, not the model itself: fetch it with 'git lfs pull'",
        what, bytes.size());
  if (const std::string weights = described_weights(path); !weights.empty())
    return invalid_model("{} is not a model: {}", what, weights);
  if (is_text(bytes))
    return invalid_model(
        "{} is a text of {} bytes that begins with '{}': neither an ONNX model nor the XML of an "
        "OpenVINO IR{}",
        what, bytes.size(), beginning(bytes), describe_text(bytes));
  if (has_extension(path, ".xml"))
    return invalid_model("{} is not XML: its first byte is {}, not '<'", what,
                         static_cast<unsigned char>(bytes.front()));
  return ModelFormat::onnx;
}

Error no_function(std::string_view bytes, const std::string& path) {
  std::string found = describe_foreign(bytes);
  if (bytes.empty())
    found = "is empty: it has 0 bytes";
  else if (found.starts_with("is a Python pickle"))
    found = "is a Python pickle: read it with pickle.load";
  else if (found.empty() && openvino::is_openvino(bytes))
    found = "is an OpenVINO IR, not a saved function";
  else if (found.empty() && (bytes.front() == kOnnxVersionField || has_extension(path, ".onnx")))
    found = "is an ONNX model, not a saved function";
  else if (found.empty())
    found = "is not a saved function: it does not begin with 'scanloom function'";
  return invalid_model("{} {}", described_file(path), found)
      .note(
          "load reads functions written by save; load models with InferenceSession, in C++ with "
          "Session::load");
}

}  // namespace scanloom
