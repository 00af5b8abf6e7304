#include "api/model_format.h"

#include <algorithm>
#include <filesystem>

#include "base/utf8.h"
#include "frontends/openvino/read.h"

namespace scanloom {
namespace {

/// As far as a file is looked at, and as much of it as a message shows.
constexpr std::size_t kSeen = 512, kShown = 40;

/// Every model of ONNX that says its IR version, as it must, begins with the field of that number.
constexpr char kOnnxVersionField = '\x08';

bool is_xml_name(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  std::ranges::transform(extension, extension.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return extension == ".xml";
}

/// Whether the bytes are letters, signs and blanks alone: no message of ONNX is that.
bool is_text(std::string_view bytes) {
  return std::ranges::all_of(bytes.substr(0, kSeen), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 ? byte != 0x7f : c == '\t' || c == '\n' || c == '\r';
  });
}

std::string beginning(std::string_view bytes) {
  const std::string_view line = bytes.substr(0, bytes.find_first_of("\r\n"));
  return shortened(to_valid_utf8(line.substr(0, kSeen)), kShown);
}

}  // namespace

Expected<ModelFormat> format_of(std::string_view bytes, const std::string& path) {
  const std::string what =
      path.empty() ? "the model"
                   : "'" + to_valid_utf8(std::filesystem::path(path).filename().string()) + "'";
  if (bytes.empty()) return invalid_model("{} is empty: it has 0 bytes", what);
  if (openvino::is_openvino(bytes)) return ModelFormat::openvino;
  if (bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff"))
    return invalid_model("{} is text in UTF-16; an IR of OpenVINO is XML in UTF-8", what);
  if (bytes.starts_with("version ") && beginning(bytes).find("git-lfs") != std::string::npos)
    return invalid_model(
        "{} is a pointer of Git LFS, {} bytes that stand for the model: fetch it "
        "with 'git lfs pull'",
        what, bytes.size());
  if (is_text(bytes))
    return invalid_model(
        "{} is a text of {} bytes that begins with '{}': neither a model of ONNX "
        "nor the XML of an IR of OpenVINO",
        what, bytes.size(), beginning(bytes));
  if (is_xml_name(path) && bytes.front() != kOnnxVersionField)
    return invalid_model("{} is no XML: its first byte is {}, not '<'", what,
                         static_cast<unsigned char>(bytes.front()));
  return ModelFormat::onnx;
}

}  // namespace scanloom
