#include "api/zip_names.h"

#include <cstddef>
#include <cstdint>

namespace scanloom {
namespace {

constexpr std::size_t kMaxNames = 500;
constexpr std::string_view kEntry = "PK\x01\x02", kEnd = "PK\x05\x06";
/// Sizes of the records before their texts, and the maximum length of the final comment.
constexpr std::size_t kFileBytes = 30, kEntryBytes = 46, kEndBytes = 22, kMaxComment = 65535;

/// A number of two or four bytes; 0 beyond the end.
std::size_t number(std::string_view bytes, std::size_t at, std::size_t count) {
  std::size_t value = 0;
  if (at > bytes.size() || bytes.size() - at < count) return 0;
  for (std::size_t i = count; i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

/// The offset of the directory; the size of the archive if there is none.
std::size_t find_directory(std::string_view bytes) {
  const std::size_t last =
      bytes.size() > kMaxComment + kEndBytes ? kMaxComment + kEndBytes : bytes.size();
  const std::size_t found = bytes.substr(bytes.size() - last).rfind(kEnd);
  if (found == std::string_view::npos) return bytes.size();
  return number(bytes, bytes.size() - last + found + 16, 4);
}

}  // namespace

std::vector<std::string_view> zip_names(std::string_view bytes) {
  std::vector<std::string_view> names;
  std::size_t at = find_directory(bytes);
  while (at < bytes.size() && names.size() < kMaxNames && bytes.substr(at).starts_with(kEntry) &&
         bytes.size() - at > kEntryBytes) {
    const std::size_t name = number(bytes, at + 28, 2);
    names.push_back(bytes.substr(at + kEntryBytes, name));
    at += kEntryBytes + name + number(bytes, at + 30, 2) + number(bytes, at + 32, 2);
  }
  if (names.empty() && bytes.size() > kFileBytes)
    names.push_back(bytes.substr(kFileBytes, number(bytes, 26, 2)));
  return names;
}

}  // namespace scanloom
