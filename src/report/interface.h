// The inputs and outputs that a report shows and its programs feed.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <scanloom/session.h>

namespace scanloom::report {

struct Interface {
  std::span<const ValueInfo> inputs, outputs;
  std::string path;          ///< the model's file; empty: it was read from memory
  bool is_function = false;  ///< a function of expressions, called by position
  /// Sizes that ran, by input and axis; empty: nothing ran, and open sizes are shown as 1.
  std::vector<std::vector<std::int64_t>> sizes = {};

  /// Returns the size to show of an axis of an input.
  [[nodiscard]] std::int64_t size(std::size_t input, std::size_t axis) const;
};

}  // namespace scanloom::report
