// What a loop over the elements of reductions carries: accumulators, in quick and in exact forms.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "jit/emit_nest.h"

namespace scanloom::jit {

/// Which forms are used: quick ones where there are some; of extremes that are known to be zeros
/// the signs; or exact ones.
enum class ReductionMode : std::uint8_t { quick, signs, exact };

/// Of reductions over the same axes, for a block of lanes.
class ReductionAccumulators {
 public:
  using Value = llvm::Value*;
  using Values = std::vector<Value>;

  /// `reductions`: their indices in the nest.
  ReductionAccumulators(llvm::IRBuilder<>& builder, const loopnest::Nest& nest,
                        const NestTarget& target, unsigned width,
                        const std::vector<std::size_t>& reductions, ReductionMode mode);

  [[nodiscard]] bool is_quick(const loopnest::Reduction& reduction) const;

  /// What is carried before the first element. `first_term` of a reduction, by its index in the
  /// nest.
  Values start(const std::function<Value(std::size_t)>& first_term);

  /// The next carried values. `found`: of each reduction of the nest its terms; `index` of the
  /// element along the last axis.
  Values combined(const std::vector<Values>& found, Value index, const Values& carried);

  /// The result of that reduction, counted from the first of those that are reduced.
  Value result(std::size_t number, const Values& last);

  /// Where one of the terms of a quick form was NaN, for any lane; null where none is quick.
  Value any_nan(const Values& last);

 private:
  enum class Kind : std::uint8_t {
    plain,  ///< the result itself
    // Quick forms, without regard to NaN.
    best,      ///< the extreme, but for the sign of a zero
    probe,     ///< the sum of all terms: NaN where a term is
    position,  ///< the index of `best`
    signs,     ///< the sign is that of an extreme which is zero: -0 counts as below 0
    // Exact forms of indices.
    exact_best,
    exact_position,
  };
  /// One carried value. Functions of the terms only, they are shared by all reductions that need
  /// them.
  struct Accumulator {
    Kind kind;
    std::size_t reduction;  ///< whose terms it is of, and how they are compared
    std::size_t best = 0;   ///< of `position` and `exact_position`: where that extreme is
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
  std::vector<std::size_t> result_at_;  ///< of each reduction
};

}  // namespace scanloom::jit
