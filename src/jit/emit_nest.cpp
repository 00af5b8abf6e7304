#include "jit/emit_nest.h"

#include <algorithm>
#include <functional>
#include <span>

#include "jit/counting_loop.h"
#include "jit/emit_memory.h"
#include "jit/emit_program.h"

namespace scanloom::jit {
namespace {

using Value = llvm::Value*;

/// Vectors that one block of lanes spans: independent chains hide the latency of folds.
constexpr unsigned kVectorsOfFold = 8;
constexpr unsigned kVectorsOfProgram = 2;

std::int64_t bytes_of(DType dtype) { return static_cast<std::int64_t>(dtype_bytes(dtype)); }

class NestEmitter {
 public:
  NestEmitter(llvm::IRBuilder<>& builder, const Nest& nest, const NestTarget& target)
      : builder_(builder), nest_(nest), target_(target) {}

  void emit() {
    for (const NestOperand& operand : nest_.reads) reads_.push_back(base(operand));
    for (const NestOperand& operand : nest_.writes) writes_.push_back(base(operand));
    for (const Fold& fold : nest_.folds) {
      folds_.emplace_back();
      for (const NestOperand& operand : fold.reads) folds_.back().push_back(base(operand));
    }
    std::vector<Value> index;
    outer(0, index);
  }

 private:
  Value number(std::int64_t value) { return builder_.getInt64(static_cast<std::uint64_t>(value)); }

  /// The address of an operand's first element.
  Value base(const NestOperand& operand) {
    Value slot = operand.slot < 0
                     ? target_.locals[local_index(operand.slot)]
                     : builder_.CreateLoad(builder_.getPtrTy(), target_.slots.at(operand.slot));
    return operand.offset == 0 ? slot : add_bytes(builder_, slot, number(operand.offset));
  }

  /// The address of the element at `index`, of which there may be fewer than strides.
  Value at(const NestOperand& operand, Value base, std::span<const Value> index) {
    for (std::size_t i = 0; i < index.size(); ++i) {
      const std::int64_t bytes = operand.strides[i] * bytes_of(operand.dtype);
      if (bytes == 0) continue;
      const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(index[i]);
      if (constant != nullptr && constant->isZero()) continue;
      base = add_bytes(builder_, base, builder_.CreateMul(index[i], number(bytes)));
    }
    return base;
  }

  /// emit_counting_loop, without a loop where there is one pass.
  std::vector<Value> loop(std::int64_t first, std::int64_t last, std::int64_t step,
                          std::vector<Value> carried, const Pass& pass) {
    if (first + step >= last) return pass(number(first), carried);
    return emit_counting_loop(builder_, number(first), number(last), number(step),
                              std::move(carried), pass);
  }

  void outer(std::size_t axis, std::vector<Value>& index) {
    if (axis + 1 < nest_.sizes.size()) {
      loop(0, nest_.sizes[axis], 1, {}, [&](Value i, const std::vector<Value>&) {
        index.push_back(i);
        outer(axis + 1, index);
        index.pop_back();
        return std::vector<Value>{};
      });
      return;
    }
    lanes(index);
  }

  /// Blocks of many lanes first, then of half as many for those that are left, down to one.
  void lanes(std::vector<Value>& index) {
    const std::int64_t count = nest_.sizes.empty() ? 1 : nest_.sizes.back();
    unsigned width = target_.vector_bytes / static_cast<unsigned>(widest()) *
                     (nest_.folds.empty() ? kVectorsOfProgram : kVectorsOfFold);
    std::int64_t lane = 0;
    for (; width > 0; width /= 2) {
      const std::int64_t last = lane + (count - lane) / width * width;
      if (last > lane)
        loop(lane, last, width, {}, [&](Value i, const std::vector<Value>&) {
          if (!nest_.sizes.empty()) index.push_back(i);
          elements(index, width);
          if (!nest_.sizes.empty()) index.pop_back();
          return std::vector<Value>{};
        });
      lane = last;
    }
  }

  /// Bytes of the widest element that is computed with; 4 at least, as narrow ones are rare.
  [[nodiscard]] std::int64_t widest() const {
    std::int64_t bytes = 4;
    for (const NestOperand& operand : nest_.writes)
      bytes = std::max(bytes, bytes_of(operand.dtype));
    for (const Fold& fold : nest_.folds) bytes = std::max(bytes, bytes_of(fold.dtype));
    return bytes;
  }

  /// What an operand moves by from lane to lane.
  [[nodiscard]] std::int64_t lane_stride(const NestOperand& operand) const {
    return nest_.sizes.empty() ? 0 : operand.strides[nest_.sizes.size() - 1];
  }

  void elements(std::span<const Value> index, unsigned width) {
    std::vector<Value> inputs;
    for (std::size_t i = 0; i < nest_.reads.size(); ++i) {
      const NestOperand& operand = nest_.reads[i];
      inputs.push_back(load_lanes(builder_, operand.dtype, at(operand, reads_[i], index),
                                  lane_stride(operand), width));
    }
    for (std::size_t i = 0; i < nest_.folds.size(); ++i)
      inputs.push_back(fold({nest_.folds[i], folds_[i], width}, index));
    const std::vector<Value> registers = emit_program(builder_, nest_.program, inputs, width);
    for (std::size_t i = 0; i < nest_.writes.size(); ++i) {
      const NestOperand& operand = nest_.writes[i];
      store_lanes(builder_, operand.dtype,
                  registers[static_cast<std::size_t>(nest_.program.results[i])],
                  at(operand, writes_[i], index), lane_stride(operand), width);
    }
  }

  // Folds

  /// A fold in one block of lanes.
  struct FoldBlock {
    const Fold& fold;
    const std::vector<Value>& bases;
    unsigned width;
  };

  std::vector<Value> terms(const FoldBlock& block, std::span<const Value> index) {
    const Fold& fold = block.fold;
    std::vector<Value> inputs;
    for (std::size_t i = 0; i < fold.reads.size(); ++i)
      inputs.push_back(load_lanes(builder_, fold.reads[i].dtype,
                                  at(fold.reads[i], block.bases[i], index),
                                  lane_stride(fold.reads[i]), block.width));
    const std::vector<Value> registers = emit_program(builder_, fold.program, inputs, block.width);
    std::vector<Value> results;
    for (const std::int32_t result : fold.program.results)
      results.push_back(registers[static_cast<std::size_t>(result)]);
    return results;
  }

  /// What is carried from element to element: the result so far; of indices, the element too.
  std::vector<Value> start(const FoldBlock& block, std::span<const Value> index) {
    const Fold& fold = block.fold;
    llvm::Type* const type = register_type(builder_.getContext(), fold.dtype, block.width);
    if (fold.kind == Fold::Kind::prod)
      return {type->isFPOrFPVectorTy() ? llvm::ConstantFP::get(type, 1.0)
                                       : llvm::ConstantInt::get(type, 1)};
    Value const zero = llvm::Constant::getNullValue(type);
    if (fold.kind == Fold::Kind::sum || fold.kind == Fold::Kind::multiply_add) return {zero};
    std::vector<Value> first(index.begin(), index.end());
    first.resize(index.size() + fold.sizes.size(), number(0));
    Value const element = terms(block, first)[0];
    if (finds_index(fold)) return {zero, element};
    return {element};
  }

  Value fold(const FoldBlock& block, std::span<const Value> index) {
    std::vector<Value> all(index.begin(), index.end());
    return fold_axis(block, all, 0, start(block, index))[0];
  }

  std::vector<Value> fold_axis(const FoldBlock& block, std::vector<Value>& index, std::size_t axis,
                               const std::vector<Value>& carried) {
    if (axis == block.fold.sizes.size()) return combine(block, carried, index);
    return loop(0, block.fold.sizes[axis], 1, carried,
                [&](Value i, const std::vector<Value>& so_far) {
                  index.push_back(i);
                  std::vector<Value> next = fold_axis(block, index, axis + 1, so_far);
                  index.pop_back();
                  return next;
                });
  }

  std::vector<Value> combine(const FoldBlock& block, const std::vector<Value>& carried,
                             const std::vector<Value>& index) {
    const Fold& fold = block.fold;
    const std::vector<Value> found = terms(block, index);
    if (finds_index(fold)) return better(block, carried, found[0], index.back());
    Value const sum = carried[0];
    if (fold.kind == Fold::Kind::multiply_add) return {multiply_add(found[0], found[1], sum)};
    tensor::ScalarProgram program{.inputs = {fold.dtype, fold.dtype}, .instrs = {}, .results = {2}};
    const auto op = fold.kind == Fold::Kind::sum    ? tensor::ScalarOp::add
                    : fold.kind == Fold::Kind::prod ? tensor::ScalarOp::mul
                    : fold.kind == Fold::Kind::max  ? tensor::ScalarOp::max
                                                    : tensor::ScalarOp::min;
    program.append({.op = op, .dtype = fold.dtype, .args = {0, 1, -1}});
    const std::vector<Value> inputs{sum, found[0]};
    return {emit_program(builder_, program, inputs, block.width)[2]};
  }

  Value multiply_add(Value a, Value b, Value sum) {
    if (!sum->getType()->isFPOrFPVectorTy())
      return builder_.CreateAdd(sum, builder_.CreateMul(a, b));
    if (target_.with_fma)
      return builder_.CreateIntrinsic(llvm::Intrinsic::fma, {sum->getType()}, {a, b, sum});
    return builder_.CreateFAdd(builder_.CreateFMul(a, b), sum);
  }

  static bool finds_index(const Fold& fold) {
    return fold.kind == Fold::Kind::argmax || fold.kind == Fold::Kind::argmin;
  }

  /// The index and the element, or those so far. The order of ops/element_order.h: NaN above all.
  std::vector<Value> better(const FoldBlock& block, const std::vector<Value>& carried,
                            Value element, Value index) {
    Value const best = carried[1];
    Value const takes = precedes(block.fold, element, best);
    Value const at = block.width == 1 ? index : builder_.CreateVectorSplat(block.width, index);
    return {builder_.CreateSelect(takes, at, carried[0]),
            builder_.CreateSelect(takes, element, best)};
  }

  Value precedes(const Fold& fold, Value element, Value best) {
    const bool greatest = fold.kind == Fold::Kind::argmax;
    Value const a = greatest ? element : best;
    Value const b = greatest ? best : element;  // a above b, or equal to it
    if (!element->getType()->isFPOrFPVectorTy()) {
      const DType dtype = fold.program.register_dtype(fold.program.results[0]);
      const bool is_signed = dtype_kind(dtype) == DTypeKind::signed_int;
      if (fold.takes_last)
        return is_signed ? builder_.CreateICmpSGE(a, b) : builder_.CreateICmpUGE(a, b);
      return is_signed ? builder_.CreateICmpSGT(a, b) : builder_.CreateICmpUGT(a, b);
    }
    Value const a_is_nan = builder_.CreateFCmpUNO(a, a);
    if (fold.takes_last) return builder_.CreateOr(builder_.CreateFCmpOGE(a, b), a_is_nan);
    Value const b_is_number = builder_.CreateFCmpORD(b, b);
    return builder_.CreateOr(builder_.CreateFCmpOGT(a, b),
                             builder_.CreateAnd(a_is_nan, b_is_number));
  }

  llvm::IRBuilder<>& builder_;
  const Nest& nest_;
  const NestTarget& target_;
  std::vector<Value> reads_, writes_;
  std::vector<std::vector<Value>> folds_;
};

}  // namespace

void emit_nest(llvm::IRBuilder<>& builder, const Nest& nest, const NestTarget& target) {
  NestEmitter(builder, nest, target).emit();
}

}  // namespace scanloom::jit
