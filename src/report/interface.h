// The inputs and outputs that a report shows and its programs feed.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <scanloom/session.h>

namespace scanloom::report {

/// How a program uses a stream of the model.
struct StreamUse {
  /// By input: whether it is set before the first push instead of fed to each.
  std::vector<bool> is_set_first;
  std::vector<std::pair<std::string, std::string>> states;  ///< inputs and outputs that are named
  bool low_latency = false;                                 ///< SessionOptions::low_latency
};

struct Interface {
  std::span<const ValueInfo> inputs, outputs;
  std::string path;          ///< the model's file; empty: it was read from memory
  bool is_function = false;  ///< a function of expressions, called by position
  /// Sizes that ran, by input and axis; empty: nothing ran, and open sizes are shown as 1.
  std::vector<std::vector<std::int64_t>> sizes = {};
  /// The elements that were fed, by input: report/fed_literals.h; empty: zeros are shown.
  std::vector<std::vector<std::string>> values = {};
  std::optional<StreamUse> stream = {};  ///< nullopt: the model runs without a stream

  /// Returns the size to show of an axis of an input.
  [[nodiscard]] std::int64_t size(std::size_t input, std::size_t axis) const;
  /// Returns the elements to show of an input, as many as size() tells; empty: zeros.
  [[nodiscard]] std::span<const std::string> elements(std::size_t input) const {
    if (input >= values.size()) return {};
    return values[input];
  }
  /// Whether an input is set before the first push of a stream.
  [[nodiscard]] bool is_set_first(std::size_t input) const {
    return stream && stream->is_set_first[input];
  }
};

}  // namespace scanloom::report
