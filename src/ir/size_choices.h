// Choices by size. A module may be prepared for a call whose sizes are known, although they stay
// open in the module so that calls of other sizes can use it too. A pass that changes the last bits
// then chooses as if the sizes were numbers, and records what it has asked: another call may use
// the module if its sizes give the same answers. So the bits of a call depend on its own sizes
// alone.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tensor/dim.h"

namespace scanloom::ir {

/// A factor times the product of some sizes.
struct SizeTerm {
  std::int64_t factor = 1;
  std::vector<tensor::Dim> sizes = {};
};

class SizeChoices {
 public:
  /// The symbol has this size in the call.
  void expect(tensor::Dim symbol, std::int64_t size) { expected_.emplace_back(symbol, size); }
  /// Whether all sizes are numbers, or follow from expected sizes.
  [[nodiscard]] bool knows(const tensor::DimTable& dims, std::span<const tensor::Dim> sizes) const;
  /// Whether the sum of the terms is positive, where sizes that are not known count as 1. Records
  /// the answer if it depends on expected sizes.
  bool is_positive(const tensor::DimTable& dims, std::vector<SizeTerm> terms);

  /// Whether all recorded answers are the same for other sizes of the expected symbols, in the
  /// order in which they were given.
  [[nodiscard]] bool hold_for(const tensor::DimTable& dims,
                              std::span<const std::int64_t> sizes) const;
  [[nodiscard]] bool is_empty() const { return made_.empty(); }

 private:
  struct Choice {
    std::vector<SizeTerm> terms;
    bool is_positive;
  };
  using Values = std::vector<std::optional<std::int64_t>>;  ///< by entry of the table

  [[nodiscard]] Values expected_values(const tensor::DimTable& dims) const;

  std::vector<std::pair<tensor::Dim, std::int64_t>> expected_;
  std::vector<Choice> made_;
};

}  // namespace scanloom::ir
