// Diagnostics: collects every error and warning that a reader finds, not only the first. A hostile
// file can cause endless errors (the same node in a function that is called again and again), so
// only the first thousand are kept, and very long texts are shortened.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <scanloom/expected.h>

#include "base/utf8.h"

namespace scanloom {

class Diagnostics {
 public:
  static constexpr std::size_t kMaxKept = 1000;     ///< errors; also the limit of warnings
  static constexpr std::size_t kMaxText = 1 << 14;  ///< bytes of one text

  void error(Error error) {
    if (++error_count_ == kMaxKept + 1) errors_.back().note("further errors are omitted");
    if (error_count_ > kMaxKept) return;
    errors_.push_back(error.text().size() > kMaxText ? cut(error) : std::move(error));
  }
  void warning(std::string text) {
    if (warnings_.size() < kMaxKept)
      warnings_.push_back(shortened(text, kMaxText));
    else
      warnings_.back() = "further warnings are omitted";
  }

  /// Keeps the error of a failed result; returns whether there was a value.
  template <class T>
  bool keep(Expected<T>& result) {
    if (!result) error(std::move(result).error());
    return result.has_value();
  }

  [[nodiscard]] bool ok() const { return errors_.empty(); }
  /// Counts all errors, including those left out.
  [[nodiscard]] std::size_t error_count() const { return error_count_; }
  [[nodiscard]] const std::vector<Error>& errors() const { return errors_; }
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

  /// The first error, with how many more there are as a note. Precondition: !ok().
  [[nodiscard]] Error first() const {
    Error error = errors_.front();
    if (error_count_ > 1)
      error.note(std::to_string(error_count_ - 1) + " more: `scanloom check` lists them all");
    return error;
  }

 private:
  static Error cut(const Error& error) {
    Error made(error.code(), shortened(error.text(), kMaxText));
    for (const std::string& note : error.notes()) made.note(note);
    return made;
  }

  std::size_t error_count_ = 0;
  std::vector<Error> errors_;
  std::vector<std::string> warnings_;
};

}  // namespace scanloom
