// OutputFiles: files that appear together when all of them are complete. Each is written beside its
// place first, so that nobody ever sees half of it and a failure leaves what was there.
#pragma once

#include <cstdint>
#include <cstdio>
#include <deque>
#include <string>
#include <string_view>

#include "base/expected.h"

namespace scanloom {

class OutputFiles {
 public:
  /// One of them: bytes in order, with gaps of zeros.
  class File {
   public:
    void append(std::string_view bytes);
    /// Zeros up to there. Precondition: not before the end.
    void pad_to(std::uint64_t offset);

   private:
    friend class OutputFiles;
    std::string path_, beside_;
    std::FILE* file_ = nullptr;
    std::uint64_t size_ = 0;
    int error_ = 0;  ///< the first errno; what is written after it is lost
  };

  OutputFiles() = default;
  OutputFiles(const OutputFiles&) = delete;
  OutputFiles& operator=(const OutputFiles&) = delete;
  /// Removes what was not committed.
  ~OutputFiles();

  /// Error: invalid_argument (the system refuses).
  Expected<File*> add(const std::string& path);
  /// Puts all in their places, in the order in which they were added. Error: invalid_argument.
  Expected<void> commit();

 private:
  std::deque<File> files_;
};

/// One file of these bytes.
Expected<void> write_file(const std::string& path, std::string_view bytes);

}  // namespace scanloom
