// MappedFile: the bytes of a regular file, mapped read-only. Models and their external data are
// read in place; pointers into the bytes need the shared_ptr to stay alive.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/expected.h"

namespace scanloom {

class MappedFile {
 public:
  /// Maps the file. If it is truncated while mapped, the process ends, as with any mapping. Errors:
  /// not_found (no such file, or a zero byte in the path), invalid_argument (not a regular file,
  /// not readable).
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

/// Gives the whole pages in [data, data + bytes) back to the system if they belong to a MappedFile:
/// whoever reads them again gets them from the file. Does nothing for other memory. Thread safe.
void release_file_pages(const void* data, std::size_t bytes);

/// Does so while a reader goes through the memory, so that few of its pages are resident at a time.
class FilePagesRead {
 public:
  explicit FilePagesRead(const void* data) : first_(static_cast<const std::byte*>(data)) {}
  /// Everything before `end` has been read.
  void up_to(const void* end);

 private:
  const std::byte* first_;  ///< of what has been read and not given back
};

}  // namespace scanloom
