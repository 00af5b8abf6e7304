#include "jit/reduction_accumulators.h"

#include <algorithm>

#include "jit/emit_program.h"
#include "jit/reduction_forms.h"

namespace scanloom::jit {

using loopnest::Nest;
using loopnest::Reduction;

namespace {

llvm::Type* bits_type(llvm::IRBuilder<>& builder, llvm::Type* type) {
  llvm::Type* const lane = builder.getIntNTy(type->getScalarSizeInBits());
  auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector == nullptr ? lane : llvm::FixedVectorType::get(lane, vector->getNumElements());
}

}  // namespace

ReductionAccumulators::ReductionAccumulators(llvm::IRBuilder<>& builder, const Nest& nest,
                                             const NestTarget& target, unsigned width,
                                             const std::vector<std::size_t>& reductions,
                                             ReductionMode mode)
    : builder_(builder), nest_(nest), target_(target), width_(width), mode_(mode) {
  for (const std::size_t index : reductions) add(index);
}

bool ReductionAccumulators::is_quick(const Reduction& reduction) const {
  return mode_ == ReductionMode::quick && width_ > 1 && has_quick_form(reduction);
}

std::size_t ReductionAccumulators::shared(Kind kind, std::size_t index) {
  const auto same = [&](const Accumulator& other) {
    return other.kind == kind && same_terms(reduction(other.reduction), reduction(index)) &&
           (kind == Kind::probe ||
            finds_greatest(reduction(other.reduction)) == finds_greatest(reduction(index)));
  };
  const auto known = std::ranges::find_if(accumulators_, same);
  const auto at = static_cast<std::size_t>(known - accumulators_.begin());
  if (known == accumulators_.end()) accumulators_.push_back({kind, index});
  return at;
}

void ReductionAccumulators::add_result(Accumulator accumulator) {
  result_at_.push_back(accumulators_.size());
  accumulators_.push_back(accumulator);
}

void ReductionAccumulators::add(std::size_t index) {
  const Reduction& added = reduction(index);
  if (mode_ == ReductionMode::signs) return add_result({Kind::signs, index});
  if (!is_quick(added)) {
    if (!finds_index(added)) return add_result({Kind::plain, index});
    accumulators_.push_back({Kind::exact_best, index});
    return add_result({Kind::exact_position, index, accumulators_.size() - 1});
  }
  shared(Kind::probe, index);
  const std::size_t best = shared(Kind::best, index);
  if (finds_index(added)) return add_result({Kind::position, index, best});
  result_at_.push_back(best);
}

/// Lanes of indices are as wide as those of the terms, so that one mask serves both. The planner
/// bounds the number of elements of a nest far below 2^31.
llvm::Type* ReductionAccumulators::position_type(const Reduction& of) {
  const bool wide = dtype_bytes(term_dtype(of)) == 8;
  return register_type(builder_.getContext(), wide ? DType::i64 : DType::i32, width_);
}

ReductionAccumulators::Values ReductionAccumulators::start(
    const std::function<Value(std::size_t)>& first_term) {
  Values carried;
  for (const Accumulator& accumulator : accumulators_) {
    const bool begins_with_it =
        accumulator.kind == Kind::best || accumulator.kind == Kind::exact_best ||
        accumulator.kind == Kind::signs ||
        (accumulator.kind == Kind::plain && finds_min_max(reduction(accumulator.reduction)));
    carried.push_back(start(accumulator.kind, reduction(accumulator.reduction),
                            begins_with_it ? first_term(accumulator.reduction) : nullptr));
  }
  return carried;
}

ReductionAccumulators::Value ReductionAccumulators::start(Kind kind, const Reduction& of,
                                                          Value first_term) {
  llvm::Type* const type = register_type(builder_.getContext(), term_dtype(of), width_);
  switch (kind) {
    case Kind::probe:
      return llvm::Constant::getNullValue(type);
    case Kind::position:
      return llvm::Constant::getNullValue(position_type(of));
    case Kind::exact_position:
      return llvm::Constant::getNullValue(register_type(builder_.getContext(), of.dtype, width_));
    case Kind::signs:
      return builder_.CreateBitCast(first_term, bits_type(builder_, type));
    case Kind::best:
    case Kind::exact_best:
      return first_term;
    case Kind::plain:
      break;
  }
  if (finds_min_max(of)) return first_term;
  if (of.kind != Reduction::Kind::prod) return llvm::Constant::getNullValue(type);
  return type->isFPOrFPVectorTy() ? llvm::ConstantFP::get(type, 1.0)
                                  : llvm::ConstantInt::get(type, 1);
}

ReductionAccumulators::Values ReductionAccumulators::combined(const std::vector<Values>& found,
                                                              Value index, const Values& carried) {
  Values next;
  for (std::size_t i = 0; i < accumulators_.size(); ++i)
    next.push_back(
        combined(accumulators_[i], found[accumulators_[i].reduction], index, carried, i));
  return next;
}

ReductionAccumulators::Value ReductionAccumulators::combined(const Accumulator& accumulator,
                                                             const Values& found, Value index,
                                                             const Values& carried,
                                                             std::size_t own) {
  const Reduction& of = reduction(accumulator.reduction);
  Value const so_far = carried[own];
  Value const term = found[0];
  switch (accumulator.kind) {
    case Kind::plain:
      return plain(of, so_far, found);
    case Kind::probe:
      return builder_.CreateFAdd(so_far, term);
    case Kind::best:
      return builder_.CreateSelect(beats(of, term, so_far), term, so_far);
    case Kind::signs: {
      Value const bits = builder_.CreateBitCast(term, so_far->getType());
      return finds_greatest(of) ? builder_.CreateAnd(so_far, bits)
                                : builder_.CreateOr(so_far, bits);
    }
    case Kind::position: {
      Value const best = carried[accumulator.best];
      return builder_.CreateSelect(
          of.takes_last ? beats_or_equals(of, term, best) : beats(of, term, best),
          splat(index, so_far->getType()), so_far);
    }
    case Kind::exact_best:
      return builder_.CreateSelect(precedes(of, term, so_far), term, so_far);
    case Kind::exact_position:
      return builder_.CreateSelect(precedes(of, term, carried[accumulator.best]),
                                   splat(index, so_far->getType()), so_far);
  }
  return so_far;
}

ReductionAccumulators::Value ReductionAccumulators::splat(Value index, llvm::Type* type) {
  Value const lane = builder_.CreateTrunc(index, type->getScalarType());
  return type->isVectorTy() ? builder_.CreateVectorSplat(width_, lane) : lane;
}

ReductionAccumulators::Value ReductionAccumulators::beats(const Reduction& of, Value term,
                                                          Value best) {
  return finds_greatest(of) ? builder_.CreateFCmpOGT(term, best)
                            : builder_.CreateFCmpOLT(term, best);
}
ReductionAccumulators::Value ReductionAccumulators::beats_or_equals(const Reduction& of, Value term,
                                                                    Value best) {
  return finds_greatest(of) ? builder_.CreateFCmpOGE(term, best)
                            : builder_.CreateFCmpOLE(term, best);
}

ReductionAccumulators::Value ReductionAccumulators::plain(const Reduction& of, Value so_far,
                                                          const Values& found) {
  if (of.kind == Reduction::Kind::multiply_add) return multiply_add(found[0], found[1], so_far);
  tensor::ScalarProgram program{.inputs = {of.dtype, of.dtype}, .instrs = {}, .results = {2}};
  const auto op = of.kind == Reduction::Kind::sum    ? tensor::ScalarOp::add
                  : of.kind == Reduction::Kind::prod ? tensor::ScalarOp::mul
                  : of.kind == Reduction::Kind::max  ? tensor::ScalarOp::max
                                                     : tensor::ScalarOp::min;
  program.append({.op = op, .dtype = of.dtype, .args = {0, 1, -1}});
  const Values inputs{so_far, found[0]};
  return emit_program(builder_, program, inputs, width_)[2];
}

ReductionAccumulators::Value ReductionAccumulators::multiply_add(Value a, Value b, Value sum) {
  if (!sum->getType()->isFPOrFPVectorTy()) return builder_.CreateAdd(sum, builder_.CreateMul(a, b));
  if (target_.with_fma)
    return builder_.CreateIntrinsic(llvm::Intrinsic::fma, {sum->getType()}, {a, b, sum});
  return builder_.CreateFAdd(builder_.CreateFMul(a, b), sum);
}

/// The order of ops/index/element_order.h: NaN above all.
ReductionAccumulators::Value ReductionAccumulators::precedes(const Reduction& of, Value element,
                                                             Value best) {
  const bool greatest = finds_greatest(of);
  Value const a = greatest ? element : best;
  Value const b = greatest ? best : element;  // a above b, or equal to it
  if (!element->getType()->isFPOrFPVectorTy()) {
    const bool is_signed = dtype_kind(term_dtype(of)) == DTypeKind::signed_int;
    if (of.takes_last)
      return is_signed ? builder_.CreateICmpSGE(a, b) : builder_.CreateICmpUGE(a, b);
    return is_signed ? builder_.CreateICmpSGT(a, b) : builder_.CreateICmpUGT(a, b);
  }
  Value const a_is_nan = builder_.CreateFCmpUNO(a, a);
  if (of.takes_last) return builder_.CreateOr(builder_.CreateFCmpOGE(a, b), a_is_nan);
  Value const b_is_number = builder_.CreateFCmpORD(b, b);
  return builder_.CreateOr(builder_.CreateFCmpOGT(a, b), builder_.CreateAnd(a_is_nan, b_is_number));
}

ReductionAccumulators::Value ReductionAccumulators::result(std::size_t number, const Values& last) {
  const Accumulator& accumulator = accumulators_[result_at_[number]];
  Value const value = last[result_at_[number]];
  if (accumulator.kind != Kind::position) return value;
  const DType dtype = reduction(accumulator.reduction).dtype;
  return builder_.CreateSExt(value, register_type(builder_.getContext(), dtype, width_));
}

ReductionAccumulators::Value ReductionAccumulators::any_nan(const Values& last) {
  Value has_nan = nullptr;
  for (std::size_t i = 0; i < accumulators_.size(); ++i) {
    if (accumulators_[i].kind != Kind::probe) continue;
    Value const here = builder_.CreateFCmpUNO(last[i], last[i]);
    has_nan = has_nan == nullptr ? here : builder_.CreateOr(has_nan, here);
  }
  return has_nan == nullptr ? nullptr : builder_.CreateOrReduce(has_nan);
}

}  // namespace scanloom::jit
