// The accumulators that a loop over the elements of reductions carries, in quick and exact forms.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "jit/emit_nest.h"

namespace scanloom::jit {

/// The forms in use: quick ones where they exist; the signs of maxima and minima known to be zeros;
/// or exact ones.
enum class ReductionMode : std::uint8_t { quick, signs, exact };

/// The accumulators of reductions over the same axes, for a block of lanes.
class ReductionAccumulators {
 public:
  using Value = llvm::Value*;
  using Values = std::vector<Value>;

  /// `reductions`: their indices in the nest.
  ReductionAccumulators(llvm::IRBuilder<>& builder, const loopnest::Nest& nest,
                        const NestTarget& target, unsigned width,
                        const std::vector<std::size_t>& reductions, ReductionMode mode);

  [[nodiscard]] bool is_quick(const loopnest::Reduction& reduction) const;

  /// Returns the values carried into the first element. `first_term` returns the first term of a
  /// reduction, by its index in the nest.
  Values start(const std::function<Value(std::size_t)>& first_term);

  /// Returns the next carried values. `found`: the terms of each reduction of the nest. `index`:
  /// the element's index along the last axis.
  Values combined(const std::vector<Values>& found, Value index, const Values& carried);

  /// Returns the result of a reduction, numbered among those that are reduced here.
  Value result(std::size_t number, const Values& last);

  /// Returns whether, in any lane, a term of a quick form was NaN; null if no form is quick.
  Value any_nan(const Values& last);

 private:
  enum class Kind : std::uint8_t {
    plain,  ///< the result itself
    // Quick forms, which ignore NaN.
    best,      ///< the maximum or minimum, except for the sign of a zero
    probe,     ///< the sum of all terms: NaN if a term is
    position,  ///< the index of `best`
    signs,     ///< has the sign of a maximum or minimum that is zero: -0 counts as below 0
    // Exact forms of indices.
    exact_best,
    exact_position,
  };
  /// One carried value. It depends only on the terms, so reductions with the same terms share it.
  struct Accumulator {
    Kind kind;
    std::size_t reduction;  ///< provides the terms and how they are compared
    std::size_t best = 0;   ///< for `position` and `exact_position`: the accumulator of `best`
  };

  void add(std::size_t index);
  void add_result(Accumulator accumulator);
  std::size_t shared(Kind kind, std::size_t index);

  Value start(Kind kind, const loopnest::Reduction& of, Value first_term);
  Value combined(const Accumulator& accumulator, const Values& found, Value index,
                 const Values& carried, std::size_t own);
  Value plain(const loopnest::Reduction& of, Value so_far, const Values& found);
  Value multiply_add(Value a, Value b, Value sum);
  Value precedes(const loopnest::Reduction& of, Value element, Value best);
  Value beats(const loopnest::Reduction& of, Value term, Value best);
  Value beats_or_equals(const loopnest::Reduction& of, Value term, Value best);
  Value splat(Value index, llvm::Type* type);
  llvm::Type* position_type(const loopnest::Reduction& of);

  [[nodiscard]] const loopnest::Reduction& reduction(std::size_t index) const {
    return nest_.reductions[index];
  }

  llvm::IRBuilder<>& builder_;
  const loopnest::Nest& nest_;
  const NestTarget& target_;
  unsigned width_;
  ReductionMode mode_;
  std::vector<Accumulator> accumulators_;
  std::vector<std::size_t> result_at_;  ///< by reduction
};

}  // namespace scanloom::jit
