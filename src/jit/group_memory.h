// GroupMemory: loads and stores the operands of a loop for one group of lanes.
#pragma once

#include <vector>

#include "jit/group_values.h"
#include "jit/lane_blocks.h"
#include "jit/loop_function.h"

namespace scanloom::jit {

class GroupMemory {
 public:
  using Port = LoopFunction::Port;
  using Value = llvm::Value*;
  using Values = std::vector<Value>;

  explicit GroupMemory(LoopFunction& loop) : loop_(loop), builder_(loop.builder) {}

  /// Begins another group. Uniform elements are computed with every group and stored with the last.
  void begin_group(std::vector<LaneBlock> blocks, bool is_last);
  [[nodiscard]] const std::vector<LaneBlock>& blocks() const { return blocks_; }

  static bool is_uniform(const Port& port) { return port.operand->lane_stride == 0; }

  /// Returns where the group's lanes of each operand begin.
  Values at_lane(const std::vector<Port>& ports, Value lane);
  /// Returns the addresses of the next step.
  Values advanced(const std::vector<Port>& ports, const Values& addresses);

  /// Loads the operands, given where the group's lanes begin. One part is null (see GroupValues).
  GroupValues load(const std::vector<Port>& ports, const Values& addresses);
  Values load_uniform(const std::vector<Port>& ports, const Values& addresses);
  Values load_block(const std::vector<Port>& ports, const Values& addresses,
                    const LaneBlock& block);
  Value load(const Port& port, Value address, const LaneBlock* block);

  /// Does nothing if the operand is of the other kind: uniform elements have no block.
  void store(const Port& port, Value address, Value value, const LaneBlock* block);
  void store(const std::vector<Port>& ports, const Values& addresses, const GroupValues& values);

 private:
  Value at_block(const Port& port, Value address, const LaneBlock& block);

  LoopFunction& loop_;
  llvm::IRBuilder<>& builder_;
  std::vector<LaneBlock> blocks_;
  bool is_last_ = false;
};

}  // namespace scanloom::jit
