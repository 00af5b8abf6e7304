// Loads and stores of a nest's operands with indices. If all lanes share their indices, the lanes
// are at the operand's usual stride. Otherwise they are accessed lane by lane, since gather
// instructions are no faster, and in order, since several may have the same address.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "jit/nest_target.h"

namespace scanloom::jit {

class GatherScatter {
 public:
  using Value = llvm::Value*;

  GatherScatter(llvm::IRBuilder<>& builder, const loopnest::Nest& nest, const NestTarget& target)
      : builder_(builder), nest_(nest), target_(target) {}

  /// Begins another block of lanes, whose indices are others.
  void begin_block() { positions_.clear(); }

  /// `base`: the address of the operand's first element; `index`: of the first lane. Leaves the
  /// nest if an index is out of range.
  Value load(const loopnest::Access& operand, Value base, std::span<const Value> index,
             unsigned width);
  /// Stores the value, or what the nest's update computes from it and the element stored there.
  void store(const loopnest::Access& operand, Value base, std::span<const Value> index, Value value,
             unsigned width);

 private:
  /// Per index: its position (a vector if each lane has its own), and the bytes per unit.
  using Moves = std::vector<std::pair<Value, std::int64_t>>;

  Moves moves_of(const loopnest::Access& operand, std::span<const Value> index, unsigned width);
  Value positions_of(const loopnest::DynamicIndex& picked, std::span<const Value> index,
                     unsigned width);
  void leave_if(Value bad);
  Value lane_address(const loopnest::Access& operand, Value first, const Moves& moves,
                     unsigned lane);
  Value moved(Value at, const Moves& moves, unsigned lane = 0);
  void store_updated(const loopnest::Access& operand, Value at, Value value, std::int64_t stride,
                     unsigned width);
  Value address(const loopnest::Access& operand, Value base, std::span<const Value> index);
  [[nodiscard]] std::int64_t lane_stride(const loopnest::Access& operand) const;

  llvm::IRBuilder<>& builder_;
  const loopnest::Nest& nest_;
  const NestTarget& target_;
  /// The positions computed for indices in the current block.
  std::vector<std::pair<const loopnest::DynamicIndex*, Value>> positions_;
};

}  // namespace scanloom::jit
