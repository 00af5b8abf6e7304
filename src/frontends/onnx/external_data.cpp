#include "frontends/onnx/external_data.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <system_error>

namespace scanloom::onnx {
namespace {

namespace fs = std::filesystem;

/// The entries of external_data; absent ones stay empty.
struct ExternalRange {
  std::string_view location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};

Expected<std::uint64_t> parse_number(const EntryProto& entry) {
  std::uint64_t number = 0;
  const char* const end = entry.value.data() + entry.value.size();
  const auto [stop, problem] = std::from_chars(entry.value.data(), end, number);
  if (problem != std::errc() || stop != end)
    return invalid_model("external data: {} '{}' is not a number of bytes", entry.key, entry.value);
  return number;
}

Expected<ExternalRange> parse_external_range(const TensorProto& tensor) {
  ExternalRange range;
  for (const EntryProto& entry : tensor.external_data) {
    if (entry.key == "location") {
      range.location = entry.value;
    } else if (entry.key == "offset") {
      SCANLOOM_TRY(range.offset, parse_number(entry));
    } else if (entry.key == "length") {
      SCANLOOM_TRY(range.length, parse_number(entry));
    }
  }
  if (range.location.empty()) return invalid_model("external data has no location");
  return range;
}

/// Whether `path` is inside `folder`. Both must be free of links and dots.
bool is_below(const fs::path& path, const fs::path& folder) {
  auto part = path.begin();
  for (const fs::path& folder_part : folder) {
    if (part == path.end() || *part != folder_part) return false;
    ++part;
  }
  return part != path.end();
}

}  // namespace

Expected<std::string> ExternalData::resolve(std::string_view location) const {
  if (folder_.empty())
    return fail(Code::invalid_argument,
                "external data '{}' needs a model that is loaded from a file", location);
  // The system ends a path at its first zero byte, which would hide the rest from these checks.
  if (location.find('\0') != std::string_view::npos)
    return invalid_model("external data: the location contains a zero byte");
  const fs::path relative(location);
  if (relative.is_absolute())
    return invalid_model("external data '{}': the location must be relative", location);
  // The format forbids '..' even if the path stays inside the folder.
  if (std::ranges::count(relative, fs::path("..")) > 0) {
    const fs::path straight = relative.lexically_normal();
    return *straight.begin() == ".."
               ? invalid_model("external data '{}' leaves the model's folder", location)
               : invalid_model("external data '{}': a location must not contain '..'", location);
  }
  std::error_code problem;
  const fs::path folder = fs::canonical(folder_, problem);
  if (problem)
    return fail(Code::not_found, "the model's folder '{}': {}", folder_, problem.message());
  const fs::path path = fs::canonical(folder / relative, problem);
  if (problem) return fail(Code::not_found, "external data '{}': {}", location, problem.message());
  if (!is_below(path, folder))
    return invalid_model("external data '{}' leaves the model's folder through a link", location);
  return path.string();
}

std::vector<std::string> ExternalData::files() const {
  std::vector<std::string> paths;
  for (const auto& [path, file] : files_) paths.push_back(path);
  return paths;
}

Expected<tensor::OwnedBytes> ExternalData::find(const TensorProto& tensor) {
  SCANLOOM_TRY(const ExternalRange range, parse_external_range(tensor));
  SCANLOOM_TRY(const std::string path, resolve(range.location));
  auto& file = files_[path];
  if (file == nullptr) {
    SCANLOOM_TRY(file, MappedFile::open(path));
  }
  const std::string_view bytes = file->bytes();
  if (range.offset > bytes.size())
    return invalid_model("external data '{}': offset {} is past the end of the file, {} bytes",
                         range.location, range.offset, bytes.size());
  const std::uint64_t rest = bytes.size() - range.offset;
  if (range.length.value_or(0) > rest)
    return invalid_model(
        "external data '{}': {} bytes from offset {} are past the end of the "
        "file, {} bytes",
        range.location, *range.length, range.offset, bytes.size());
  const std::uint64_t length = range.length.value_or(rest);
  return tensor::OwnedBytes{file, bytes.substr(range.offset, length), rest - length,
                            range.length.has_value()};
}

}  // namespace scanloom::onnx
