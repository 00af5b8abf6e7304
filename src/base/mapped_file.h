// MappedFile: the bytes of a regular file, mapped read-only. Models and their external data are
// read in place; whoever points into the bytes keeps the shared_ptr.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/expected.h"

namespace scanloom {

class MappedFile {
 public:
  /// Errors: not_found (no such file, or a zero byte in the path), invalid_argument (not a regular
  /// file, not readable).
  /// A file that somebody shortens while it is mapped ends the process, as with any mapping.
  static Expected<std::shared_ptr<const MappedFile>> open(const std::string& path);

  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  /// Page-aligned; empty for an empty file.
  [[nodiscard]] std::string_view bytes() const { return {data_, size_}; }

 private:
  MappedFile(const char* data, std::size_t size) : data_(data), size_(size) {}

  const char* data_;
  std::size_t size_;
};

}  // namespace scanloom
