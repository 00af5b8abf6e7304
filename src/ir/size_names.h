// Names for sizes that depend on data and have none: taken from a value that has the size, such as
// "indices.1" for axis 1 of the model's 'indices'. Text for people shows them instead of the
// module's own numbers, such as "?126".
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/expected.h"
#include "ir/module.h"

namespace scanloom::ir {

/// Whether the text contains a size that is named by a number.
[[nodiscard]] bool has_numbered_size(std::string_view text);

class SizeNames {
 public:
  explicit SizeNames(const Module& module) { add(module); }

  /// Names the sizes that have no name yet, such as those of values made by passes.
  void add(const Module& module);
  /// Replaces numbers by names; a number that no value has becomes "?".
  [[nodiscard]] std::string in(std::string_view text) const;
  [[nodiscard]] Error in(const Error& error) const;

 private:
  std::map<std::string, std::string, std::less<>> names_;  ///< by "?126"
};

/// Returns the error with the names of that module.
[[nodiscard]] Error with_size_names(const Error& error, const Module& module);

}  // namespace scanloom::ir
