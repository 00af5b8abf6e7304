// OutputFiles: files that appear together once all of them are complete. Each is first written
// under a temporary name, so half-written files are never visible and a failure keeps the old ones.
// Links are followed, the permissions of a file that is replaced are kept, and pipes and devices
// are written into.
#pragma once

#include <cstdint>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/expected.h"

namespace scanloom {

class OutputFiles {
 public:
  /// One file: bytes in order, with gaps of zeros.
  class File {
   public:
    void append(std::string_view bytes);
    /// Appends zeros up to `offset`. Precondition: not before the end.
    void pad_to(std::uint64_t offset);

   private:
    friend class OutputFiles;
    std::string path_;
    std::string beside_;  ///< the temporary file; empty: a pipe or device is written into directly
    std::filesystem::perms permissions_ = std::filesystem::perms::unknown;  ///< to keep
    std::FILE* file_ = nullptr;
    std::uint64_t size_ = 0;
    int error_ = 0;  ///< the first errno; later data is lost
  };

  OutputFiles() = default;
  OutputFiles(const OutputFiles&) = delete;
  OutputFiles& operator=(const OutputFiles&) = delete;
  /// Removes files that were not committed.
  ~OutputFiles();

  /// Error: invalid_argument (refused by the system).
  Expected<File*> add(const std::string& path);
  /// Moves all files to their final paths, in the order in which they were added. Error:
  /// invalid_argument.
  Expected<void> commit();

 private:
  std::deque<File> files_;
};

/// Writes one file of these bytes.
Expected<void> write_file(const std::string& path, std::string_view bytes);

}  // namespace scanloom
