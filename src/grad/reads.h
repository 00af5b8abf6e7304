// Which arguments of a loop's body can influence each result of the loop, as far as gradients are
// concerned. Found in one walk over the body and all nested bodies.
#pragma once

#include <cstdint>
#include <vector>

#include "expr/node.h"

namespace scanloom::autodiff {

/// Whether a small change of the operands may change this result, so that its cotangent is passed
/// on.
[[nodiscard]] bool lets_through(const expr::Node& node, std::uint32_t output);

/// A set of arguments for each result.
class Reads {
 public:
  Reads() = default;
  Reads(std::size_t results, std::size_t args)
      : words_((args + 63) / 64), bits_(results * words_) {}

  [[nodiscard]] bool contains(std::size_t result, std::size_t arg) const {
    return (bits_[result * words_ + arg / 64] >> (arg % 64) & 1) != 0;
  }
  void add(std::size_t result, std::size_t arg) {
    bits_[result * words_ + arg / 64] |= std::uint64_t{1} << (arg % 64);
  }
  /// Adds everything in the other one's row. Returns whether anything is new. The sets must be over
  /// the same arguments.
  bool add_all(std::size_t result, const Reads& other, std::size_t row);

 private:
  std::size_t words_ = 0;
  std::vector<std::uint64_t> bits_;
};

/// Returns what the results of a loop node read. Recursion depth is the nesting depth of loops.
[[nodiscard]] Reads results_read(const expr::Node& loop);

}  // namespace scanloom::autodiff
