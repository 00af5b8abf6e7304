#include "jit/emit_loop.h"

#include <algorithm>

#include "jit/counting_loop.h"
#include "jit/emit_memory.h"
#include "jit/emit_stages.h"
#include "jit/emit_step_lanes.h"
#include "jit/emit_wide_loop.h"
#include "jit/lane_blocks.h"
#include "jit/lane_program.h"
#include "jit/loop_function.h"

namespace scanloom::jit {
namespace {

using Value = llvm::Value*;
using Values = std::vector<Value>;

/// Blocks of two vectors that are computed together in a step: enough to hide the latency of a
/// recurrence, unless they are so long that the processor cannot look ahead over all of them.
constexpr std::int64_t kMaxBlocks = 4, kMaxInstructions = 1600;
/// With a longer program, what LLVM hoists out of loops gains little.
constexpr std::int64_t kShortProgram = 16;
/// What steps update in memory must stay in the L1 cache.
constexpr std::int64_t kMaxBytesOfStates = 16 * 1024;

/// How lanes are distributed: over `count` groups of `lanes` lanes; the last group takes the rest.
struct Groups {
  LaneWidths widths;
  std::int64_t count, lanes;
};

std::int64_t interleaved_blocks(const LaneProgram& program) {
  const std::int64_t instructions = 2 * std::max<std::int64_t>(1, program.lane_work());
  return std::clamp<std::int64_t>(kMaxInstructions / instructions, 1, kMaxBlocks);
}

Groups deal_out(const LoopSource& source, const LaneProgram& program, unsigned vector_bytes) {
  const unsigned vector = vector_bytes / program.widest_lane();
  const std::int64_t blocks = interleaved_blocks(program);
  // The widest vectors have a longer latency, which does not pay if one is not filled.
  if (vector_bytes == 64 && source.lanes < vector && blocks > 1)
    return {{vector / 2, vector / 2}, 1, source.lanes};
  const std::int64_t lanes = blocks * 2 * vector;
  return {{vector, 2 * vector}, std::max<std::int64_t>(1, source.lanes / lanes), lanes};
}

/// Whether to compute all lanes of a step before the next step, although states are then in memory.
/// Several groups would read rows in pieces, recompute uniform elements, wait for the latency of
/// two vectors, or keep in memory what does not fit in registers.
bool takes_all_lanes_per_step(const LoopSource& source, const LaneProgram& program,
                              unsigned vector_bytes) {
  if (is_wide(source)) return true;
  // A single group takes a little more than fits.
  if (4 * source.lanes <= 5 * deal_out(source, program, vector_bytes).lanes) return false;
  std::int64_t kept = 0, bytes = 0;
  for (const auto* operands : {&source.captured, &source.carried})
    for (const LoopOperand& operand : *operands) {
      if (operand.lane_stride == 0) continue;
      ++kept;
      bytes += source.lanes * static_cast<std::int64_t>(dtype_bytes(operand.dtype));
    }
  if (bytes > kMaxBytesOfStates) return false;
  const auto registers = static_cast<std::int64_t>(vector_registers(source.isa));
  return has_rows(source) || program.uniform_work() > 0 ||
         interleaved_blocks(program) < kMaxBlocks || 2 * kMaxBlocks * kept > registers;
}

/// The values of some operands in a group: uniform elements, and the registers of each block of
/// lanes. Each operand has one of the two; the other is null.
struct GroupValues {
  explicit GroupValues(std::size_t blocks) : of_blocks(blocks) {}
  void append(const GroupValues& other) {
    uniform.insert(uniform.end(), other.uniform.begin(), other.uniform.end());
    for (std::size_t i = 0; i < of_blocks.size(); ++i)
      of_blocks[i].insert(of_blocks[i].end(), other.of_blocks[i].begin(), other.of_blocks[i].end());
  }
  Values uniform;
  std::vector<Values> of_blocks;
};

/// Emits the loop over groups of lanes around the loop over steps. All steps of a group run before
/// the next group begins, so the group's states stay in registers; lanes are independent. Uniform
/// elements are computed with every group and stored with the last.
class LoopEmitter {
 public:
  using Port = LoopFunction::Port;

  LoopEmitter(llvm::Module& module, const LoopSource& source, const LaneProgram& program)
      : loop_(module, source),
        source_(source),
        program_(program),
        builder_(loop_.builder),
        result_(loop_.last_step()),
        is_long_(loop_.is_long()) {}

  void emit(const Groups& groups) {
    const LaneReuse reuse = program_.goes_lane_by_lane() ? LaneReuse::none : LaneReuse::any;
    const std::int64_t last = (groups.count - 1) * groups.lanes;
    if (last > 0) {
      blocks_ = cut_lanes(groups.lanes, groups.widths, reuse);
      counted(builder_, {0, last, groups.lanes}, {}, [&](Value lane, const auto&) {
        emit_steps(lane);
        return Values();
      });
    }
    is_last_ = true;
    blocks_ = cut_lanes(source_.lanes - last, groups.widths, reuse);
    emit_steps(loop_.integer(last));
    builder_.CreateRet(result_);
  }

 private:
  static bool is_uniform(const Port& port) { return port.operand->lane_stride == 0; }

  [[nodiscard]] std::size_t result_of_state(std::size_t i) const {
    return i + (source_.has_keep_going ? 1 : 0);
  }
  [[nodiscard]] std::size_t result_of_row(std::size_t i) const {
    return result_of_state(source_.carried.size() + i);
  }
  /// Returns the value of a uniform result.
  [[nodiscard]] Value uniform_result(const Values& registers, std::size_t i) const {
    return registers[static_cast<std::size_t>(source_.program.results[i])];
  }

  /// Returns where the group's lanes of each operand begin.
  Values at_lane(const std::vector<Port>& ports, Value lane) {
    Values addresses;
    for (const Port& port : ports)
      addresses.push_back(loop_.at_lane(*port.operand, port.base, lane));
    return addresses;
  }
  Value at_block(const Port& port, Value address, const LaneBlock& block) {
    return loop_.at_lane(*port.operand, address, loop_.integer(block.first));
  }

  /// Loads the uniform elements; those of the blocks are loaded where they are needed.
  Values load_uniform(const std::vector<Port>& ports, const Values& addresses) {
    Values loaded;
    for (std::size_t i = 0; i < ports.size(); ++i)
      loaded.push_back(is_uniform(ports[i])
                           ? load_lanes(builder_, ports[i].operand->dtype, addresses[i], 0, 1)
                           : nullptr);
    return loaded;
  }
  Values load_lanes_of(const std::vector<Port>& ports, const Values& addresses,
                       const LaneBlock& block) {
    Values loaded;
    for (std::size_t i = 0; i < ports.size(); ++i)
      loaded.push_back(is_uniform(ports[i])
                           ? nullptr
                           : load_block(builder_, *ports[i].operand,
                                        at_block(ports[i], addresses[i], block), block));
    return loaded;
  }
  GroupValues load(const std::vector<Port>& ports, const Values& addresses) {
    GroupValues parts(blocks_.size());
    parts.uniform = load_uniform(ports, addresses);
    for (std::size_t i = 0; i < blocks_.size(); ++i)
      parts.of_blocks[i] = load_lanes_of(ports, addresses, blocks_[i]);
    return parts;
  }

  void store(const Port& port, Value address, Value value, const LaneBlock& block) {
    if (!is_uniform(port))
      store_block(builder_, *port.operand, value, at_block(port, address, block), block);
  }
  void store_uniform(const Port& port, Value address, Value value) {
    if (is_uniform(port) && is_last_)
      store_lanes(builder_, port.operand->dtype, value, address, 0, 1);
  }

  /// Creates phis of the values (or nulls) from `before`; close_phis() adds those from the loop.
  Values phis(const Values& initial, llvm::BasicBlock* before) {
    Values made;
    for (Value const value : initial) {
      made.push_back(nullptr);
      if (value == nullptr) continue;
      auto* const phi = builder_.CreatePHI(value->getType(), 2);
      phi->addIncoming(value, before);
      made.back() = phi;
    }
    return made;
  }
  GroupValues phis(const GroupValues& initial, llvm::BasicBlock* before) {
    GroupValues made(blocks_.size());
    made.uniform = phis(initial.uniform, before);
    for (std::size_t i = 0; i < blocks_.size(); ++i)
      made.of_blocks[i] = phis(initial.of_blocks[i], before);
    return made;
  }
  static void close_phis(const Values& made, const Values& next, llvm::BasicBlock* steps) {
    for (std::size_t i = 0; i < made.size(); ++i)
      if (made[i] != nullptr) llvm::cast<llvm::PHINode>(made[i])->addIncoming(next[i], steps);
  }
  static void close_phis(const GroupValues& made, const GroupValues& next,
                         llvm::BasicBlock* steps) {
    close_phis(made.uniform, next.uniform, steps);
    for (std::size_t i = 0; i < made.of_blocks.size(); ++i)
      close_phis(made.of_blocks[i], next.of_blocks[i], steps);
  }

  /// The addresses of a step's slices and rows.
  struct StepPositions {
    Values slices, rows;  ///< addresses that move with each step; a long program has none
    /// For a long program: earlier steps of the call, and the first lane of the group.
    Value passed = nullptr, lane = nullptr;
  };

  /// Emits all steps of the group of lanes that begins at `lane`.
  void emit_steps(Value lane) {
    const GroupValues captured = load_captured(lane);
    const GroupValues initial = load(loop_.carried_in, at_lane(loop_.carried_in, lane));
    // A long program computes each address where it loads or stores.
    const Values first_slices = is_long_ ? Values() : at_lane(loop_.scanned, lane);
    const Values first_rows = is_long_ ? Values() : at_lane(loop_.stacked, lane);
    llvm::BasicBlock* const before = builder_.GetInsertBlock();
    llvm::BasicBlock* const steps = loop_.block("steps");
    llvm::BasicBlock* const after = loop_.block("steps_done");
    builder_.CreateBr(steps);
    builder_.SetInsertPoint(steps);
    const Values step = phis({loop_.first_step()}, before);
    StepPositions positions;
    positions.slices = phis(first_slices, before);
    positions.rows = phis(first_rows, before);
    const GroupValues states = phis(initial, before);
    if (is_long_) {
      positions.passed = builder_.CreateSub(step[0], loop_.first_step());
      positions.lane = lane;
    }
    GroupValues inputs = captured;
    inputs.append(states);
    const GroupValues next = emit_step(inputs, positions);
    Value const next_step = builder_.CreateAdd(step[0], builder_.getInt64(1));
    close_phis(step, {next_step}, steps);
    close_phis(positions.slices, advanced(loop_.scanned, positions.slices), steps);
    close_phis(positions.rows, advanced(loop_.stacked, positions.rows), steps);
    close_phis(states, next, steps);
    align_loop(*builder_.CreateCondBr(goes_on(next_step), steps, after));
    builder_.SetInsertPoint(after);
    store_states(next, at_lane(loop_.carried_out, lane));
  }

  /// Loads captured operands; broadcasts to vectors what no step changes.
  GroupValues load_captured(Value lane) {
    splats_ = Splats();
    GroupValues captured = load(loop_.captured, at_lane(loop_.captured, lane));
    for (Value const element : captured.uniform)
      for (const LaneBlock& block : blocks_)
        if (element != nullptr) splats_.of(builder_, element, block.width);
    return captured;
  }

  /// Emits one step of the group: stores its rows, returns its next states.
  GroupValues emit_step(const GroupValues& inputs, const StepPositions& positions) {
    const std::vector<std::size_t> rows = program_.rows_left(is_long_);
    GroupValues next(blocks_.size());
    const Values registers = emit_uniform(inputs.uniform, positions);
    if (source_.has_keep_going) keep_going_ = uniform_result(registers, 0);
    for (std::size_t i = 0; i < loop_.carried_out.size(); ++i)
      next.uniform.push_back(uniform_result(registers, result_of_state(i)));
    for (const std::size_t i : rows)
      if (is_uniform(loop_.stacked[i]))
        store_row(i, uniform_result(registers, result_of_row(i)), nullptr, positions);
    for (std::size_t k = 0; k < blocks_.size(); ++k) {
      const LaneBlock& block = blocks_[k];
      const Values results = emit_lanes(registers, inputs.of_blocks[k], block, positions);
      for (std::size_t i = 0; i < loop_.carried_out.size(); ++i)
        next.of_blocks[k].push_back(results[result_of_state(i)]);
      for (const std::size_t i : rows)
        if (!is_uniform(loop_.stacked[i]))
          store_row(i, results[result_of_row(i)], &block, positions);
    }
    return next;
  }

  /// Emits the uniform part; returns its registers.
  Values emit_uniform(Values inputs, const StepPositions& positions) {
    const Values slices =
        is_long_ ? Values(loop_.scanned.size()) : load_uniform(loop_.scanned, positions.slices);
    inputs.insert(inputs.end(), slices.begin(), slices.end());
    const LateAccess late = late_access(nullptr, positions);
    return program_.emit_uniform(builder_, std::move(inputs), is_long_ ? &late : nullptr);
  }

  /// Emits a block of lanes; returns its results.
  Values emit_lanes(const Values& uniform, Values inputs, const LaneBlock& block,
                    const StepPositions& positions) {
    const Values slices = is_long_ ? Values(loop_.scanned.size())
                                   : load_lanes_of(loop_.scanned, positions.slices, block);
    inputs.insert(inputs.end(), slices.begin(), slices.end());
    const LateAccess late = late_access(&block, positions);
    return program_.emit_lanes(builder_, uniform, inputs, block.width, splats_,
                               is_long_ ? &late : nullptr);
  }

  /// For a long program: loads slices where they are first needed and stores rows as soon as they
  /// are computed. Either a uniform element (no block), or a block of lanes.
  LateAccess late_access(const LaneBlock* block, const StepPositions& positions) {
    return {[=, this, &positions](std::size_t reg) {
              const Port& port =
                  loop_.scanned[reg - source_.captured.size() - source_.carried.size()];
              Value const at = address(port, positions);
              if (is_uniform(port)) return load_lanes(builder_, port.operand->dtype, at, 0, 1);
              return load_block(builder_, *port.operand, at_block(port, at, *block), *block);
            },
            [=, this, &positions](std::size_t reg, Value made) {
              program_.for_rows_made(reg, block == nullptr,
                                     [&](std::size_t i) { store_row(i, made, block, positions); });
            }};
  }

  void store_row(std::size_t i, Value value, const LaneBlock* block,
                 const StepPositions& positions) {
    const Port& port = loop_.stacked[i];
    Value const at = is_long_ ? address(port, positions) : positions.rows[i];
    block == nullptr ? store_uniform(port, at, value) : store(port, at, value, *block);
  }

  /// Returns the address of a slice or row of a long program.
  Value address(const Port& port, const StepPositions& positions) {
    return loop_.at_lane(*port.operand, loop_.at_step(port, positions.passed), positions.lane);
  }

  Values advanced(const std::vector<Port>& ports, const Values& addresses) {
    Values next;
    for (std::size_t i = 0; i < addresses.size(); ++i)
      next.push_back(add_bytes(builder_, addresses[i], ports[i].step));
    return next;
  }

  Value goes_on(Value next_step) {
    Value const more = builder_.CreateICmpSLT(next_step, loop_.last_step());
    if (!source_.has_keep_going) return more;
    // Short of `last`, or stopped by the condition: -1 - steps, see CompiledLoopFn.
    result_ = builder_.CreateSelect(keep_going_, loop_.last_step(), builder_.CreateNot(next_step));
    return builder_.CreateAnd(more, keep_going_);
  }

  void store_states(const GroupValues& states, const Values& addresses) {
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      const Port& port = loop_.carried_out[i];
      store_uniform(port, addresses[i], states.uniform[i]);
      for (std::size_t k = 0; k < blocks_.size(); ++k)
        store(port, addresses[i], states.of_blocks[k][i], blocks_[k]);
    }
  }

  LoopFunction loop_;
  const LoopSource& source_;
  const LaneProgram& program_;
  llvm::IRBuilder<>& builder_;
  Splats splats_;
  Value result_;
  Value keep_going_ = nullptr;
  std::vector<LaneBlock> blocks_;  ///< of the group
  bool is_last_ = false;
  const bool is_long_;
};

}  // namespace

bool emit_loop(llvm::Module& module, const LoopSource& source, unsigned vector_bytes) {
  if (const auto increments = increments_of(source)) {
    emit_step_lanes(module, source, *increments, vector_bytes);
    return true;
  }
  if (const auto stages = cut_into_stages(source)) {
    emit_stages(module, source, *stages, vector_bytes);
    return true;
  }
  const LaneProgram program(source);
  if (takes_all_lanes_per_step(source, program, vector_bytes)) {
    emit_wide_loop(module, source, program, vector_bytes);
    return is_wide(source) || program.lane_work() <= kShortProgram;
  }
  LoopEmitter(module, source, program).emit(deal_out(source, program, vector_bytes));
  return source.lanes == 1;
}

}  // namespace scanloom::jit
