// Diagnostics: collects every error and warning that a reader finds, instead of only the first.
#pragma once

#include <string>
#include <vector>

#include <scanloom/expected.h>

namespace scanloom {

class Diagnostics {
 public:
  void error(Error error) { errors_.push_back(std::move(error)); }
  void warning(std::string text) { warnings_.push_back(std::move(text)); }

  /// Keeps the error of a failed result; returns whether there was a value.
  template <class T>
  bool keep(Expected<T>& result) {
    if (!result) errors_.push_back(std::move(result).error());
    return result.has_value();
  }

  [[nodiscard]] bool ok() const { return errors_.empty(); }
  [[nodiscard]] const std::vector<Error>& errors() const { return errors_; }
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

  /// The first error, with how many more there are as a note. Precondition: !ok().
  [[nodiscard]] Error first() const {
    Error error = errors_.front();
    if (errors_.size() > 1)
      error.note(std::to_string(errors_.size() - 1) + " more: `scanloom check` lists them all");
    return error;
  }

 private:
  std::vector<Error> errors_;
  std::vector<std::string> warnings_;
};

}  // namespace scanloom
