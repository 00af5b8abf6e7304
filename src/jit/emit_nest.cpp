#include "jit/emit_nest.h"

#include <algorithm>
#include <functional>
#include <span>

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
  NestEmitter(llvm::IRBuilder<>& builder, const Nest& nest, Value slots, unsigned vector_bytes,
              bool with_fma)
      : builder_(builder),
        nest_(nest),
        slots_(slots),
        vector_bytes_(vector_bytes),
        with_fma_(with_fma) {}

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

  llvm::BasicBlock* block(const char* name) {
    return llvm::BasicBlock::Create(builder_.getContext(), name,
                                    builder_.GetInsertBlock()->getParent());
  }

  /// The address of an operand's first element.
  Value base(const NestOperand& operand) {
    llvm::Type* const pointer = builder_.getPtrTy();
    Value slot = builder_.CreateLoad(
        pointer, builder_.CreateConstInBoundsGEP1_64(pointer, slots_,
                                                     static_cast<std::uint64_t>(operand.slot)));
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

  /// body(i, carried) for i = first, first + step, ... below last, of which there is one at least;
  /// `carried` are values from one pass to the next. Returns those of the last.
  using Pass = std::function<std::vector<Value>(Value i, const std::vector<Value>& carried)>;
  std::vector<Value> loop(std::int64_t first, std::int64_t last, std::int64_t step,
                          std::vector<Value> carried, const Pass& body) {
    if (first + step >= last) return body(number(first), carried);
    llvm::BasicBlock* const before = builder_.GetInsertBlock();
    llvm::BasicBlock* const again = block("again");
    builder_.CreateBr(again);
    builder_.SetInsertPoint(again);
    llvm::PHINode* const i = builder_.CreatePHI(builder_.getInt64Ty(), 2, "i");
    i->addIncoming(number(first), before);
    std::vector<llvm::PHINode*> phis;
    for (Value& value : carried) {
      phis.push_back(builder_.CreatePHI(value->getType(), 2));
      phis.back()->addIncoming(value, before);
      value = phis.back();
    }
    const std::vector<Value> next = body(i, carried);
    Value following = builder_.CreateAdd(i, number(step));
    llvm::BasicBlock* const end = builder_.GetInsertBlock();
    i->addIncoming(following, end);
    for (std::size_t k = 0; k < phis.size(); ++k) phis[k]->addIncoming(next[k], end);
    llvm::BasicBlock* const after = block("after");
    builder_.CreateCondBr(builder_.CreateICmpSLT(following, number(last)), again, after);
    builder_.SetInsertPoint(after);
    return next;
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
    unsigned width = vector_bytes_ / static_cast<unsigned>(widest()) *
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
      inputs.push_back(fold(nest_.folds[i], folds_[i], index, width));
    const std::vector<Value> registers = emit_program(builder_, nest_.program, inputs, width);
    for (std::size_t i = 0; i < nest_.writes.size(); ++i) {
      const NestOperand& operand = nest_.writes[i];
      store_lanes(builder_, operand.dtype,
                  registers[static_cast<std::size_t>(nest_.program.results[i])],
                  at(operand, writes_[i], index), lane_stride(operand), width);
    }
  }

  // Folds

  std::vector<Value> terms(const Fold& fold, const std::vector<Value>& bases,
                           std::span<const Value> index, unsigned width) {
    std::vector<Value> inputs;
    for (std::size_t i = 0; i < fold.reads.size(); ++i)
      inputs.push_back(load_lanes(builder_, fold.reads[i].dtype, at(fold.reads[i], bases[i], index),
                                  lane_stride(fold.reads[i]), width));
    const std::vector<Value> registers = emit_program(builder_, fold.program, inputs, width);
    std::vector<Value> results;
    for (const std::int32_t result : fold.program.results)
      results.push_back(registers[static_cast<std::size_t>(result)]);
    return results;
  }

  Value start(const Fold& fold, const std::vector<Value>& bases, std::span<const Value> index,
              unsigned width) {
    llvm::Type* const type = register_type(builder_.getContext(), fold.dtype, width);
    if (fold.kind == Fold::Kind::prod)
      return type->isFPOrFPVectorTy() ? llvm::ConstantFP::get(type, 1.0)
                                      : llvm::ConstantInt::get(type, 1);
    if (fold.kind != Fold::Kind::max && fold.kind != Fold::Kind::min)
      return llvm::Constant::getNullValue(type);
    std::vector<Value> first(index.begin(), index.end());
    first.resize(index.size() + fold.sizes.size(), number(0));
    return terms(fold, bases, first, width)[0];
  }

  Value fold(const Fold& fold, const std::vector<Value>& bases, std::span<const Value> index,
             unsigned width) {
    std::vector<Value> all(index.begin(), index.end());
    return fold_axis(fold, bases, all, width, 0, start(fold, bases, index, width));
  }

  Value fold_axis(const Fold& fold, const std::vector<Value>& bases, std::vector<Value>& index,
                  unsigned width, std::size_t axis, Value sum) {
    if (axis == fold.sizes.size())
      return combine(fold, sum, terms(fold, bases, index, width), width);
    const auto pass = [&](Value i, const std::vector<Value>& carried) {
      index.push_back(i);
      Value next = fold_axis(fold, bases, index, width, axis + 1, carried[0]);
      index.pop_back();
      return std::vector<Value>{next};
    };
    return loop(0, fold.sizes[axis], 1, {sum}, pass)[0];
  }

  Value combine(const Fold& fold, Value sum, const std::vector<Value>& terms, unsigned width) {
    if (fold.kind == Fold::Kind::multiply_add) {
      if (!sum->getType()->isFPOrFPVectorTy())
        return builder_.CreateAdd(sum, builder_.CreateMul(terms[0], terms[1]));
      if (with_fma_)
        return builder_.CreateIntrinsic(llvm::Intrinsic::fma, {sum->getType()},
                                        {terms[0], terms[1], sum});
      return builder_.CreateFAdd(builder_.CreateFMul(terms[0], terms[1]), sum);
    }
    tensor::ScalarProgram program{.inputs = {fold.dtype, fold.dtype}, .instrs = {}, .results = {2}};
    const auto op = fold.kind == Fold::Kind::sum    ? tensor::ScalarOp::add
                    : fold.kind == Fold::Kind::prod ? tensor::ScalarOp::mul
                    : fold.kind == Fold::Kind::max  ? tensor::ScalarOp::max
                                                    : tensor::ScalarOp::min;
    program.append({.op = op, .dtype = fold.dtype, .args = {0, 1, -1}});
    const std::vector<Value> inputs{sum, terms[0]};
    return emit_program(builder_, program, inputs, width)[2];
  }

  llvm::IRBuilder<>& builder_;
  const Nest& nest_;
  Value slots_;
  unsigned vector_bytes_;
  bool with_fma_;
  std::vector<Value> reads_, writes_;
  std::vector<std::vector<Value>> folds_;
};

}  // namespace

void emit_nest(llvm::IRBuilder<>& builder, const Nest& nest, llvm::Value* slots,
               unsigned vector_bytes, bool with_fma) {
  NestEmitter(builder, nest, slots, vector_bytes, with_fma).emit();
}

}  // namespace scanloom::jit
