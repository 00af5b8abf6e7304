#include "jit/emit_loop.h"

#include <utility>

#include "jit/counting_loop.h"
#include "jit/emit_stages.h"
#include "jit/emit_step_lanes.h"
#include "jit/emit_wide_loop.h"
#include "jit/group_memory.h"
#include "jit/lane_groups.h"
#include "jit/lane_program.h"

namespace scanloom::jit {
namespace {

using Value = llvm::Value*;
using Values = std::vector<Value>;

/// With a longer program, what LLVM hoists out of loops gains little.
constexpr std::int64_t kShortProgram = 16;

/// Emits the loop over groups of lanes around the loop over steps. All steps of a group run before
/// the next group begins, so the group's states stay in registers; lanes are independent.
class LoopEmitter {
 public:
  using Port = LoopFunction::Port;

  LoopEmitter(llvm::Module& module, const LoopSource& source, const LaneProgram& program)
      : loop_(module, source),
        source_(source),
        program_(program),
        builder_(loop_.builder),
        memory_(loop_),
        result_(loop_.last_step()),
        is_long_(loop_.is_long()) {}

  void emit(const LaneGroups& groups) {
    const LaneReuse reuse = program_.goes_lane_by_lane() ? LaneReuse::none : LaneReuse::any;
    const std::int64_t last = (groups.count - 1) * groups.lanes;
    if (last > 0) {
      memory_.begin_group(cut_lanes(groups.lanes, groups.widths, reuse), false);
      counted(builder_, {0, last, groups.lanes}, {}, [&](Value lane, const auto&) {
        emit_steps(lane);
        return Values();
      });
    }
    memory_.begin_group(cut_lanes(source_.lanes - last, groups.widths, reuse), true);
    emit_steps(loop_.integer(last));
    builder_.CreateRet(result_);
  }

 private:
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

  /// The addresses of a step's slices and rows.
  struct StepPositions {
    Values slices, rows;  ///< addresses that move with each step; a long program has none
    /// For a long program: earlier steps of the call, and the first lane of the group.
    Value passed = nullptr, lane = nullptr;
  };

  /// Emits all steps of the group of lanes that begins at `lane`.
  void emit_steps(Value lane) {
    const GroupValues captured = load_captured(lane);
    const GroupValues initial =
        memory_.load(loop_.carried_in, memory_.at_lane(loop_.carried_in, lane));
    // A long program computes each address where it loads or stores.
    const Values first_slices = is_long_ ? Values() : memory_.at_lane(loop_.scanned, lane);
    const Values first_rows = is_long_ ? Values() : memory_.at_lane(loop_.stacked, lane);
    llvm::BasicBlock* const before = builder_.GetInsertBlock();
    llvm::BasicBlock* const steps = loop_.block("steps");
    llvm::BasicBlock* const after = loop_.block("steps_done");
    builder_.CreateBr(steps);
    builder_.SetInsertPoint(steps);
    const Values step = open_phis(builder_, Values{loop_.first_step()}, before);
    StepPositions positions;
    positions.slices = open_phis(builder_, first_slices, before);
    positions.rows = open_phis(builder_, first_rows, before);
    const GroupValues states = open_phis(builder_, initial, before);
    if (is_long_) {
      positions.passed = builder_.CreateSub(step[0], loop_.first_step());
      positions.lane = lane;
    }
    GroupValues inputs = captured;
    inputs.append(states);
    const GroupValues next = emit_step(inputs, positions);
    Value const next_step = builder_.CreateAdd(step[0], builder_.getInt64(1));
    close_phis(step, Values{next_step}, steps);
    close_phis(positions.slices, memory_.advanced(loop_.scanned, positions.slices), steps);
    close_phis(positions.rows, memory_.advanced(loop_.stacked, positions.rows), steps);
    close_phis(states, next, steps);
    align_loop(*builder_.CreateCondBr(goes_on(next_step), steps, after));
    builder_.SetInsertPoint(after);
    memory_.store(loop_.carried_out, memory_.at_lane(loop_.carried_out, lane), next);
  }

  /// Loads captured operands; broadcasts to vectors what no step changes.
  GroupValues load_captured(Value lane) {
    splats_ = Splats();
    GroupValues captured = memory_.load(loop_.captured, memory_.at_lane(loop_.captured, lane));
    for (Value const element : captured.uniform)
      for (const LaneBlock& block : memory_.blocks())
        if (element != nullptr) splats_.of(builder_, element, block.width);
    return captured;
  }

  /// Emits one step of the group: stores its rows, returns its next states.
  GroupValues emit_step(const GroupValues& inputs, const StepPositions& positions) {
    const std::vector<std::size_t> rows = program_.rows_left(is_long_);
    GroupValues next(memory_.blocks().size());
    const Values registers = emit_uniform(inputs.uniform, positions);
    if (source_.has_keep_going) keep_going_ = uniform_result(registers, 0);
    for (std::size_t i = 0; i < loop_.carried_out.size(); ++i)
      next.uniform.push_back(uniform_result(registers, result_of_state(i)));
    for (const std::size_t i : rows)
      if (GroupMemory::is_uniform(loop_.stacked[i]))
        store_row(i, uniform_result(registers, result_of_row(i)), nullptr, positions);
    for (std::size_t k = 0; k < memory_.blocks().size(); ++k) {
      const LaneBlock& block = memory_.blocks()[k];
      const Values results = emit_lanes(registers, inputs.of_blocks[k], block, positions);
      for (std::size_t i = 0; i < loop_.carried_out.size(); ++i)
        next.of_blocks[k].push_back(results[result_of_state(i)]);
      for (const std::size_t i : rows)
        if (!GroupMemory::is_uniform(loop_.stacked[i]))
          store_row(i, results[result_of_row(i)], &block, positions);
    }
    return next;
  }

  /// Emits the uniform part; returns its registers.
  Values emit_uniform(Values inputs, const StepPositions& positions) {
    const Values slices = is_long_ ? Values(loop_.scanned.size())
                                   : memory_.load_uniform(loop_.scanned, positions.slices);
    inputs.insert(inputs.end(), slices.begin(), slices.end());
    const LateAccess late = late_access(nullptr, positions);
    return program_.emit_uniform(builder_, std::move(inputs), is_long_ ? &late : nullptr);
  }

  /// Emits a block of lanes; returns its results.
  Values emit_lanes(const Values& uniform, Values inputs, const LaneBlock& block,
                    const StepPositions& positions) {
    const Values slices = is_long_ ? Values(loop_.scanned.size())
                                   : memory_.load_block(loop_.scanned, positions.slices, block);
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
              return memory_.load(port, address(port, positions),
                                  GroupMemory::is_uniform(port) ? nullptr : block);
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
    memory_.store(port, at, value, block);
  }

  /// Returns the address of a slice or row of a long program.
  Value address(const Port& port, const StepPositions& positions) {
    return loop_.at_lane(*port.operand, loop_.at_step(port, positions.passed), positions.lane);
  }

  Value goes_on(Value next_step) {
    Value const more = builder_.CreateICmpSLT(next_step, loop_.last_step());
    if (!source_.has_keep_going) return more;
    // Short of `last`, or stopped by the condition: -1 - steps, see CompiledLoopFn.
    result_ = builder_.CreateSelect(keep_going_, loop_.last_step(), builder_.CreateNot(next_step));
    return builder_.CreateAnd(more, keep_going_);
  }

  LoopFunction loop_;
  const LoopSource& source_;
  const LaneProgram& program_;
  llvm::IRBuilder<>& builder_;
  GroupMemory memory_;
  Splats splats_;
  Value result_;
  Value keep_going_ = nullptr;
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
  LoopEmitter(module, source, program).emit(divide_lanes(source, program, vector_bytes));
  return source.lanes == 1;
}

}  // namespace scanloom::jit
