#include "jit/emit_nest.h"

#include <algorithm>
#include <functional>
#include <span>

#include "jit/counting_loop.h"
#include "jit/emit_fold.h"
#include "jit/emit_memory.h"
#include "jit/emit_program.h"

namespace scanloom::jit {
namespace {

using Value = llvm::Value*;

/// Vectors that one block of lanes spans where nothing is folded.
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

  void outer(std::size_t axis, std::vector<Value>& index) {
    if (axis + 1 < nest_.sizes.size()) {
      counted(builder_, {0, nest_.sizes[axis], 1}, {}, [&](Value i, const std::vector<Value>&) {
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
    unsigned width = nest_.folds.empty() ? kVectorsOfProgram * target_.vector_bytes /
                                               static_cast<unsigned>(widest())
                                         : lanes_of_folds(nest_, target_);
    std::int64_t lane = 0;
    for (; width > 0; width /= 2) {
      const std::int64_t last = lane + (count - lane) / width * width;
      if (last > lane)
        counted(builder_, {lane, last, width}, {}, [&](Value i, const std::vector<Value>&) {
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
      inputs.push_back(load_lanes(builder_, operand.dtype,
                                  element_address(builder_, operand, reads_[i], index),
                                  lane_stride(operand), width));
    }
    const std::vector<Value> folded = emit_folds(builder_, {nest_, target_, folds_, index, width});
    inputs.insert(inputs.end(), folded.begin(), folded.end());
    const std::vector<Value> registers = emit_program(builder_, nest_.program, inputs, width);
    for (std::size_t i = 0; i < nest_.writes.size(); ++i) {
      const NestOperand& operand = nest_.writes[i];
      store_lanes(
          builder_, operand.dtype, registers[static_cast<std::size_t>(nest_.program.results[i])],
          element_address(builder_, operand, writes_[i], index), lane_stride(operand), width);
    }
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
