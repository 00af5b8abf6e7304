// Names for sizes that nothing names, since data decide them: after the value that has them, as in
// "indices.1", axis 1 of what the model calls 'indices'. Text for people has these instead of the
// module's own numbers, "?126".
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/expected.h"
#include "ir/module.h"

namespace scanloom::ir {

/// Whether some size in the text has a number for a name.
[[nodiscard]] bool has_numbered_size(std::string_view text);

class SizeNames {
 public:
  explicit SizeNames(const Module& module) { add(module); }

  /// Names the sizes that have no name yet: those of further values, such as passes have made.
  void add(const Module& module);
  /// Returns the text with names; a number that no value has becomes "?".
  [[nodiscard]] std::string in(std::string_view text) const;
  [[nodiscard]] Error in(const Error& error) const;

 private:
  std::map<std::string, std::string, std::less<>> names_;  ///< by "?126"
};

/// Returns the error with the names of that module.
[[nodiscard]] Error with_size_names(const Error& error, const Module& module);

}  // namespace scanloom::ir
