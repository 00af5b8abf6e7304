#include "jit/emit_nest.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <span>
#include <utility>

#include "jit/counting_loop.h"
#include "jit/emit_memory.h"
#include "jit/emit_program.h"
#include "jit/emit_reduction.h"
#include "jit/reduction_forms.h"
#include "loopnest/cost.h"

namespace scanloom::jit {

using loopnest::Access;
using loopnest::DynamicIndex;
using loopnest::local_index;
using loopnest::Nest;
using loopnest::Reduction;

namespace {

using Value = llvm::Value*;

/// Vectors per block of lanes without reductions. A function is a chain of some twenty dependent
/// instructions, so more of them are interleaved.
constexpr unsigned kVectorsOfProgram = 2, kVectorsOfFunctions = 4;
/// Rows of fewer lanes are computed one by one.
constexpr std::int64_t kMinOfRow = 4;

std::int64_t bytes_of(DType dtype) { return static_cast<std::int64_t>(dtype_bytes(dtype)); }

class NestEmitter {
 public:
  NestEmitter(llvm::IRBuilder<>& builder, const Nest& nest, NestTarget& target)
      : builder_(builder), nest_(nest), target_(target) {}

  void emit() {
    for (const Access& operand : nest_.reads) reads_.push_back(base(operand));
    for (const Access& operand : nest_.writes) writes_.push_back(base(operand));
    for (const Reduction& reduction : nest_.reductions) {
      reductions_.emplace_back();
      for (const Access& operand : reduction.reads) reductions_.back().push_back(base(operand));
    }
    // Registers written in a loop are not known after it.
    in_loop_ = nest_.sizes.size() > 1;
    if (in_loop_) forget_writes();
    std::vector<Value> index;
    outer(0, index);
  }

 private:
  /// `count` vectors of `lanes` lanes. The first begins at `first`; the last ends with the row and
  /// may overlap the one before it.
  struct LastVectors {
    std::int64_t first, lanes;
    unsigned count;
  };

  Value number(std::int64_t value) { return builder_.getInt64(static_cast<std::uint64_t>(value)); }

  /// Returns the address of an operand's first element.
  Value base(const Access& operand) {
    Value slot = operand.slot < 0 ? target_.locals[local_index(operand.slot)]
                                  : pointer_of(builder_, target_, operand.slot);
    return operand.offset == 0 ? slot : add_bytes(builder_, slot, number(operand.offset));
  }

  void outer(std::size_t axis, std::vector<Value>& index) {
    if (axis + 1 >= nest_.sizes.size()) return lanes(index);
    const std::int64_t size = nest_.sizes[axis];
    const unsigned rows = axis + 2 == nest_.sizes.size() ? rows_of_block() : 1;
    const std::int64_t whole = rows > 1 ? size / rows * rows : 0;
    const auto pass = [&](std::int64_t first, std::int64_t last, unsigned step) {
      if (first == last) return;
      counted(builder_, {first, last, step}, {}, [&](Value i, const std::vector<Value>&) {
        index.push_back(i);
        step > 1 ? elements_of_rows(index, step) : outer(axis + 1, index);
        index.pop_back();
        return std::vector<Value>{};
      });
    };
    pass(0, whole, rows);
    pass(whole, size, 1);
  }

  void forget_writes() {
    for (const Access& write : nest_.writes) target_.known.forget(write.slot);
  }

  /// Whether the program has functions that are inlined on vectors.
  [[nodiscard]] bool has_chains() const {
    return has_math(nest_.program) && !has_calls_of_lanes(nest_.program);
  }

  /// Returns the lanes of a block without reductions.
  [[nodiscard]] unsigned lanes_of_block() const {
    const unsigned vectors = has_chains() ? kVectorsOfFunctions : kVectorsOfProgram;
    return vectors * target_.vector_bytes / static_cast<unsigned>(widest());
  }

  /// Returns how many rows of the innermost axis form one block. Short rows with functions share
  /// one, so that their chains are interleaved.
  [[nodiscard]] unsigned rows_of_block() const {
    const auto is_plain = [](const Access& operand) { return operand.indices.empty(); };
    if (!nest_.reductions.empty() || !has_chains() || !std::ranges::all_of(nest_.reads, is_plain) ||
        !std::ranges::all_of(nest_.writes, is_plain))
      return 1;
    const std::int64_t lanes = nest_.sizes.back();
    if (lanes < kMinOfRow || !std::has_single_bit(static_cast<std::uint64_t>(lanes))) return 1;
    return std::max(
        lanes_of_block() / static_cast<unsigned>(std::min<std::int64_t>(lanes, 1 << 16)), 1U);
  }

  /// Emits all lanes of `rows` rows; `index` is that of the first row.
  void elements_of_rows(std::span<const Value> index, unsigned rows) {
    std::vector<std::vector<Value>> begins;
    for (unsigned row = 0; row < rows; ++row) {
      std::vector<Value>& begin = begins.emplace_back(index.begin(), index.end());
      begin.back() = builder_.CreateAdd(begin.back(), number(row));
      begin.push_back(number(0));
    }
    interleaved_elements(begins, static_cast<unsigned>(nest_.sizes.back()));
  }

  /// Emits `lanes` lanes (2^n) from each of these positions on. Reads all before it writes any, so
  /// that lanes may overlap.
  void interleaved_elements(const std::vector<std::vector<Value>>& begins, unsigned lanes) {
    const auto count = static_cast<unsigned>(begins.size());
    std::vector<std::vector<Value>> parts(nest_.reads.size());
    for (const std::vector<Value>& begin : begins) {
      positions_.clear();
      for (std::size_t i = 0; i < parts.size(); ++i)
        parts[i].push_back(load(nest_.reads[i], reads_[i], begin, lanes));
    }
    std::vector<Value> inputs;
    for (std::vector<Value>& joined : parts) {
      for (unsigned width = 2 * lanes; joined.size() > 1; width *= 2) {
        std::vector<Value> pairs;
        for (std::size_t k = 0; k < joined.size(); k += 2)
          pairs.push_back(
              builder_.CreateShuffleVector(joined[k], joined[k + 1], lanes_from(0, width)));
        joined = std::move(pairs);
      }
      inputs.push_back(joined[0]);
    }
    const std::vector<Value> registers =
        emit_program(builder_, nest_.program, inputs, count * lanes);
    for (std::size_t i = 0; i < nest_.writes.size(); ++i) {
      Value const result = registers[static_cast<std::size_t>(nest_.program.results[i])];
      for (unsigned k = 0; k < count; ++k) {
        Value const part = builder_.CreateShuffleVector(result, lanes_from(k * lanes, lanes));
        store(nest_.writes[i], writes_[i], begins[k], part, lanes);
      }
    }
  }

  /// Whether elements may be computed twice: nothing accumulates, and each has its own address.
  [[nodiscard]] bool may_repeat() const {
    return nest_.reductions.empty() && std::ranges::all_of(nest_.writes, [](const Access& write) {
             return write.indices.empty();
           });
  }

  /// For rows with functions that are not a whole number of vectors: the last vector overlaps the
  /// one before it and is interleaved with it. In pieces of 4, 2 and 1 lanes, each would wait for
  /// its own chain.
  [[nodiscard]] std::optional<LastVectors> last_vectors(std::int64_t row) const {
    if (row < 3 || !has_chains() || !may_repeat()) return std::nullopt;
    const auto power_below = [](std::int64_t value) {
      return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(value)));
    };
    const std::int64_t lanes =
        std::min(static_cast<std::int64_t>(target_.vector_bytes) / widest(), power_below(row));
    if (row % lanes == 0) return std::nullopt;
    const std::int64_t vectors = row / lanes + 1;
    const std::int64_t interleaved =
        std::min(power_below(vectors), std::int64_t{kVectorsOfFunctions});
    return LastVectors{(vectors - interleaved) * lanes, lanes, static_cast<unsigned>(interleaved)};
  }

  /// Emits blocks of many lanes first, then of half as many for the rest, down to one.
  void lanes(std::vector<Value>& index) {
    std::int64_t count = nest_.sizes.empty() ? 1 : nest_.sizes.back();
    const std::int64_t row = count;
    const std::optional<LastVectors> last = last_vectors(row);
    if (last) count = last->first;
    unsigned width =
        nest_.reductions.empty() ? lanes_of_block() : lanes_of_reductions(nest_, target_);
    std::int64_t lane = 0;
    for (; width > 0; width /= 2) {
      const std::int64_t end = lane + (count - lane) / width * width;
      if (end > lane) blocks(lane, end, width, index);
      lane = end;
    }
    if (!last) return;
    std::vector<std::vector<Value>> begins(last->count, index);
    for (std::vector<Value>& begin : begins) {
      begin.push_back(number(std::min(lane, row - last->lanes)));
      lane += last->lanes;
    }
    interleaved_elements(begins, static_cast<unsigned>(last->lanes));
  }

  void blocks(std::int64_t first, std::int64_t last, unsigned width, std::vector<Value>& index) {
    const auto block = [&](Value lane) {
      if (!nest_.sizes.empty()) index.push_back(lane);
      elements(index, width);
      if (!nest_.sizes.empty()) index.pop_back();
    };
    if (!in_loop_ && nest_.reductions.empty() && last - first <= loopnest::kBlocksInARow * width) {
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

  /// Returns the bytes of the widest element computed; at least 4, since narrow ones are rare.
  [[nodiscard]] std::int64_t widest() const {
    std::int64_t bytes = 4;
    for (const Access& operand : nest_.writes) bytes = std::max(bytes, bytes_of(operand.dtype));
    return bytes;
  }

  /// Returns the distance between an operand's lanes.
  [[nodiscard]] std::int64_t lane_stride(const Access& operand) const {
    return nest_.sizes.empty() ? 0 : operand.strides[nest_.sizes.size() - 1];
  }

  void elements(std::span<const Value> index, unsigned width) {
    positions_.clear();
    std::vector<Value> inputs;
    for (std::size_t i = 0; i < nest_.reads.size(); ++i)
      inputs.push_back(load(nest_.reads[i], reads_[i], index, width));
    const std::vector<Value> reduced =
        emit_reductions(builder_, {nest_, target_, reductions_, index, width});
    inputs.insert(inputs.end(), reduced.begin(), reduced.end());
    const std::vector<Value> registers = emit_program(builder_, nest_.program, inputs, width);
    for (std::size_t i = 0; i < nest_.writes.size(); ++i)
      store(nest_.writes[i], writes_[i], index,
            registers[static_cast<std::size_t>(nest_.program.results[i])], width);
  }

  Value load(const Access& operand, Value base, std::span<const Value> index, unsigned width) {
    if (!operand.indices.empty()) return load_picked(operand, base, index, width);
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
                      {target_.parameters, stride}, width);
  }

  Value address(const Access& operand, Value base, std::span<const Value> index) {
    return element_address(builder_, target_.parameters, operand, base, index);
  }

  void store(const Access& operand, Value base, std::span<const Value> index, Value value,
             unsigned width) {
    if (!operand.indices.empty()) return store_picked(operand, base, index, value, width);
    const std::int64_t stride = lane_stride(operand);
    store_lanes(builder_, operand.dtype, value, address(operand, base, index),
                {target_.parameters, stride}, width);
    if (operand.slot >= 0) return;
    const auto offset = known_offset(operand, index);
    if (!in_loop_ && offset && (width == 1 || stride == 1))
      target_.known.store(operand.slot, operand.dtype, *offset, width, value);
    else
      target_.known.forget(operand.slot);
  }

  // Operands with indices. If all lanes share their indices, the lanes are at the operand's usual
  // stride. Otherwise they are accessed lane by lane, since gather instructions are no faster, and
  // in order, since several may have the same address.

  Value load_picked(const Access& operand, Value base, std::span<const Value> index,
                    unsigned width) {
    const Moves moves = moves_of(operand, index, width);
    Value const first = address(operand, base, index);
    if (are_shared(moves))
      return load_lanes(builder_, operand.dtype, moved(first, moves),
                        {target_.parameters, lane_stride(operand)}, width);
    // Bytes are joined before they become booleans.
    const DType loaded = operand.dtype == DType::boolean ? DType::u8 : operand.dtype;
    Value value = llvm::PoisonValue::get(memory_type(builder_.getContext(), loaded, width));
    for (unsigned i = 0; i < width; ++i)
      value = builder_.CreateInsertElement(
          value, load_lanes(builder_, loaded, picked_lane(operand, first, moves, i), 0, 1), i);
    if (loaded == operand.dtype) return value;
    return builder_.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
  }

  void store_picked(const Access& operand, Value base, std::span<const Value> index, Value value,
                    unsigned width) {
    const Moves moves = moves_of(operand, index, width);
    Value const first = address(operand, base, index);
    const std::int64_t stride = lane_stride(operand);
    // Lanes without a stride all write to one address.
    if (are_shared(moves) && (stride != 0 || width == 1)) {
      store_updated(operand, moved(first, moves), value, stride, width);
    } else {
      for (unsigned i = 0; i < width; ++i)
        store_updated(operand, picked_lane(operand, first, moves, i),
                      builder_.CreateExtractElement(value, i), 0, 1);
    }
    target_.known.forget(operand.slot);
  }

  /// Stores the value, or what the nest's update computes from it and the element stored there.
  void store_updated(const Access& operand, Value at, Value value, std::int64_t stride,
                     unsigned width) {
    const LaneStride apart{target_.parameters, stride};
    if (!nest_.update.instrs.empty()) {
      const std::vector<Value> inputs{load_lanes(builder_, operand.dtype, at, apart, width), value};
      const std::vector<Value> registers = emit_program(builder_, nest_.update, inputs, width);
      value = registers[static_cast<std::size_t>(nest_.update.results[0])];
    }
    store_lanes(builder_, operand.dtype, value, at, apart, width);
  }

  /// Per index: its position (a vector if each lane has its own), and the bytes per unit.
  using Moves = std::vector<std::pair<Value, std::int64_t>>;

  Moves moves_of(const Access& operand, std::span<const Value> index, unsigned width) {
    Moves moves;
    for (const DynamicIndex& picked : operand.indices)
      moves.emplace_back(positions_of(picked, index, width), picked.bytes);
    return moves;
  }

  static bool are_shared(const Moves& moves) {
    return std::ranges::none_of(
        moves, [](const auto& move) { return move.first->getType()->isVectorTy(); });
  }

  /// Returns the address of one lane's element; `first` is that of the first lane before indices.
  Value picked_lane(const Access& operand, Value first, const Moves& moves, unsigned lane) {
    if (lane == 0 || lane_stride(operand) == 0) return moved(first, moves, lane);
    Value const stride =
        builder_.CreateMul(number_of(builder_, target_.parameters, lane_stride(operand)),
                           number(bytes_of(operand.dtype)));
    return moved(add_bytes(builder_, first, builder_.CreateMul(stride, number(lane))), moves, lane);
  }

  Value moved(Value at, const Moves& moves, unsigned lane = 0) {
    for (const auto& [positions, bytes] : moves) {
      Value const position = positions->getType()->isVectorTy()
                                 ? builder_.CreateExtractElement(positions, lane)
                                 : positions;
      at = add_bytes(builder_, at,
                     builder_.CreateMul(position, number_of(builder_, target_.parameters, bytes)));
    }
    return at;
  }

  /// Whether both are the same index of axes of one size, whatever they move by.
  static bool is_same_index(const DynamicIndex& a, const DynamicIndex& b) {
    return a.slot == b.slot && a.offset == b.offset && a.dtype == b.dtype && a.size == b.size &&
           a.strides == b.strides;
  }

  /// Returns the position on the axis that each lane's index selects, as i64; a scalar if all lanes
  /// share it. Leaves the nest if one is out of range.
  Value positions_of(const DynamicIndex& picked, std::span<const Value> index, unsigned width) {
    for (const auto& [known, positions] : positions_)
      if (is_same_index(*known, picked)) return positions;
    const Access operand{picked.slot, picked.dtype, picked.offset, picked.strides};
    const std::int64_t stride = lane_stride(operand);
    const unsigned lanes = stride == 0 ? 1 : width;
    Value const given = load_lanes(builder_, picked.dtype, address(operand, base(operand), index),
                                   {target_.parameters, stride}, lanes);
    llvm::Type* const i64 = register_type(builder_.getContext(), DType::i64, lanes);
    Value const wide = builder_.CreateSExt(given, i64);
    Value size = number_of(builder_, target_.parameters, picked.size);
    Value most = builder_.CreateSub(size, number(1));
    if (lanes > 1) {
      size = builder_.CreateVectorSplat(lanes, size);
      most = builder_.CreateVectorSplat(lanes, most);
    }
    Value const below = builder_.CreateICmpSLT(wide, llvm::Constant::getNullValue(i64));
    Value const positions = builder_.CreateSelect(below, builder_.CreateAdd(wide, size), wide);
    // The sign bit of either is set if it is out of range.
    Value bad = builder_.CreateOr(positions, builder_.CreateSub(most, positions));
    if (lanes > 1) bad = builder_.CreateOrReduce(bad);
    auto* const inside = llvm::BasicBlock::Create(builder_.getContext(), "inside",
                                                  builder_.GetInsertBlock()->getParent());
    builder_.CreateCondBr(builder_.CreateICmpSLT(bad, number(0)), target_.outside, inside);
    builder_.SetInsertPoint(inside);
    positions_.emplace_back(&picked, positions);
    return positions;
  }

  /// Returns the element's offset in the code's own memory, if it is known.
  static std::optional<std::int64_t> known_offset(const Access& operand,
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
  std::vector<std::vector<Value>> reductions_;
  /// The positions computed for indices in the current block.
  std::vector<std::pair<const DynamicIndex*, Value>> positions_;
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
