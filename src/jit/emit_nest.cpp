#include "jit/emit_nest.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "jit/counting_loop.h"
#include "jit/emit_fold.h"
#include "jit/emit_memory.h"
#include "jit/emit_program.h"

namespace scanloom::jit {
namespace {

using Value = llvm::Value*;

/// Vectors that one block of lanes spans where nothing is folded.
constexpr unsigned kVectorsOfProgram = 2;
/// So few blocks of lanes are written one after the other rather than as a loop.
constexpr std::int64_t kBlocksInARow = 4;

std::int64_t bytes_of(DType dtype) { return static_cast<std::int64_t>(dtype_bytes(dtype)); }

class NestEmitter {
 public:
  NestEmitter(llvm::IRBuilder<>& builder, const Nest& nest, NestTarget& target)
      : builder_(builder), nest_(nest), target_(target) {}

  void emit() {
    for (const NestOperand& operand : nest_.reads) reads_.push_back(base(operand));
    for (const NestOperand& operand : nest_.writes) writes_.push_back(base(operand));
    for (const Fold& fold : nest_.folds) {
      folds_.emplace_back();
      for (const NestOperand& operand : fold.reads) folds_.back().push_back(base(operand));
    }
    // Registers that are filled in a loop are not known behind it.
    in_loop_ = nest_.sizes.size() > 1;
    if (in_loop_) forget_writes();
    std::vector<Value> index;
    outer(0, index);
  }

 private:
  Value number(std::int64_t value) { return builder_.getInt64(static_cast<std::uint64_t>(value)); }

  /// The address of an operand's first element.
  Value base(const NestOperand& operand) {
    Value slot = operand.slot < 0 ? target_.locals[local_index(operand.slot)]
                                  : pointer_of(builder_, target_, operand.slot);
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

  void forget_writes() {
    for (const NestOperand& write : nest_.writes) target_.known.forget(write.slot);
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
      if (last > lane) blocks(lane, last, width, index);
      lane = last;
    }
  }

  void blocks(std::int64_t first, std::int64_t last, unsigned width, std::vector<Value>& index) {
    const auto block = [&](Value lane) {
      if (!nest_.sizes.empty()) index.push_back(lane);
      elements(index, width);
      if (!nest_.sizes.empty()) index.pop_back();
    };
    if (!in_loop_ && nest_.folds.empty() && last - first <= kBlocksInARow * width) {
      for (std::int64_t lane = first; lane < last; lane += width) block(number(lane));
      return;
    }
    const bool loops = first + width < last;
    if (loops) forget_writes();
    const bool was_in_loop = std::exchange(in_loop_, in_loop_ || loops);
    counted(builder_, {first, last, width}, {}, [&](Value lane, const std::vector<Value>&) {
      block(lane);
      return std::vector<Value>{};
    });
    in_loop_ = was_in_loop;
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
    for (std::size_t i = 0; i < nest_.reads.size(); ++i)
      inputs.push_back(load(nest_.reads[i], reads_[i], index, width));
    const std::vector<Value> folded = emit_folds(builder_, {nest_, target_, folds_, index, width});
    inputs.insert(inputs.end(), folded.begin(), folded.end());
    const std::vector<Value> registers = emit_program(builder_, nest_.program, inputs, width);
    for (std::size_t i = 0; i < nest_.writes.size(); ++i)
      store(nest_.writes[i], writes_[i], index,
            registers[static_cast<std::size_t>(nest_.program.results[i])], width);
  }

  Value load(const NestOperand& operand, Value base, std::span<const Value> index, unsigned width) {
    const std::int64_t stride = lane_stride(operand);
    if (const auto offset = known_offset(operand, index)) {
      const unsigned lanes = stride == 0 ? 1 : width;
      Value const known =
          stride > 1 || stride < 0
              ? nullptr
              : target_.known.load(builder_, operand.slot, operand.dtype, *offset, lanes);
      if (known != nullptr) return lanes < width ? builder_.CreateVectorSplat(width, known) : known;
    }
    return load_lanes(builder_, operand.dtype, address(operand, base, index),
                      {target_.numbers, stride}, width);
  }

  Value address(const NestOperand& operand, Value base, std::span<const Value> index) {
    return element_address(builder_, target_.numbers, operand, base, index);
  }

  void store(const NestOperand& operand, Value base, std::span<const Value> index, Value value,
             unsigned width) {
    const std::int64_t stride = lane_stride(operand);
    store_lanes(builder_, operand.dtype, value, address(operand, base, index),
                {target_.numbers, stride}, width);
    if (operand.slot >= 0) return;
    const auto offset = known_offset(operand, index);
    if (!in_loop_ && offset && (width == 1 || stride == 1))
      target_.known.store(operand.slot, operand.dtype, *offset, width, value);
    else
      target_.known.forget(operand.slot);
  }

  /// Where the element lies in the code's own memory, if that is known.
  static std::optional<std::int64_t> known_offset(const NestOperand& operand,
                                                  std::span<const Value> index) {
    if (operand.slot >= 0) return std::nullopt;
    std::int64_t offset = operand.offset;
    for (std::size_t i = 0; i < index.size(); ++i) {
      const auto* const at = llvm::dyn_cast<llvm::ConstantInt>(index[i]);
      if (at == nullptr) return std::nullopt;
      offset += at->getSExtValue() * operand.strides[i] * bytes_of(operand.dtype);
    }
    return offset;
  }

  llvm::IRBuilder<>& builder_;
  const Nest& nest_;
  NestTarget& target_;
  bool in_loop_ = false;
  std::vector<Value> reads_, writes_;
  std::vector<std::vector<Value>> folds_;
};

}  // namespace

llvm::Value* pointer_of(llvm::IRBuilder<>& builder, const NestTarget& target, std::int32_t slot) {
  const auto fixed = target.fixed.find(slot);
  if (fixed != target.fixed.end()) return fixed->second;
  return builder.CreateLoad(builder.getPtrTy(), target.slots.at(slot));
}

void emit_nest(llvm::IRBuilder<>& builder, const Nest& nest, NestTarget& target) {
  NestEmitter(builder, nest, target).emit();
}

}  // namespace scanloom::jit
