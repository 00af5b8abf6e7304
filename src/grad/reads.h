// Which arguments of a loop's body each result of the loop changes with, as far as gradients can
// tell: found in one walk over the body and the bodies in it, however deep they nest.
#pragma once

#include <cstdint>
#include <vector>

#include "expr/node.h"

namespace scanloom::autodiff {

/// Whether a change of operands may change this result a little, and so has a cotangent.
[[nodiscard]] bool lets_through(const expr::Node& node, std::uint32_t output);

/// Sets of arguments, by result.
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
  /// All that the other one's row holds; whether any is new. The sets are of the same arguments.
  bool add_all(std::size_t result, const Reads& other, std::size_t row);

 private:
  std::size_t words_ = 0;
  std::vector<std::uint64_t> bits_;
};

/// Of a loop node. Recurses as deep as loops lie in each other.
[[nodiscard]] Reads results_read(const expr::Node& loop);

}  // namespace scanloom::autodiff
