// The terms of the reductions of a nest: loads of their reads, and their programs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "jit/emit_reduction.h"

namespace scanloom::jit {

/// Reductions are given by their indices in the nest. Positions of elements are those of a block's
/// first lane, then along the reduction's axes.
class ReductionTerms {
 public:
  using Value = llvm::Value*;

  ReductionTerms(llvm::IRBuilder<>& builder, const ReductionSite& site)
      : builder_(builder), site_(site) {}

  /// Returns the first term of the first element.
  Value first_term(std::size_t reduction);

  /// Loads all reads, or one of them, at one element.
  std::vector<Value> load(std::size_t reduction, std::span<const Value> index);
  Value load(std::size_t reduction, std::size_t read, std::span<const Value> index);
  /// Loads the lanes of each of the next elements, as many as there are lanes.
  std::vector<Value> load_transposed(std::size_t reduction, std::size_t read,
                                     std::span<const Value> index);

  /// Returns the results of the program for such reads.
  std::vector<Value> terms(std::size_t reduction, const std::vector<Value>& inputs);

 private:
  Value address(std::size_t reduction, std::size_t read, std::span<const Value> index);
  [[nodiscard]] const loopnest::Reduction& at(std::size_t reduction) const {
    return site_.nest.reductions[reduction];
  }

  llvm::IRBuilder<>& builder_;
  const ReductionSite& site_;
};

}  // namespace scanloom::jit
