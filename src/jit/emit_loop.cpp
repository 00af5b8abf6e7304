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

/// Blocks of two vectors that take a step side by side: as many as hide the latency of a
/// recurrence, unless they are so long that the processor does not look ahead of them all.
constexpr std::int64_t kMostBlocks = 4, kMostInstructions = 1600;
/// Beside a longer program little is gained by what LLVM moves out of loops.
constexpr std::int64_t kShortProgram = 16;
/// What steps update in memory has to stay in the first cache.
constexpr std::int64_t kMostBytesOfStates = 16 * 1024;

/// How lanes are dealt out: to so many groups of so many lanes; the last one takes the rest, too.
struct Groups {
  LaneWidths widths;
  std::int64_t count, lanes;
};

std::int64_t blocks_side_by_side(const LaneProgram& program) {
  const std::int64_t instructions = 2 * std::max<std::int64_t>(1, program.lane_work());
  return std::clamp<std::int64_t>(kMostInstructions / instructions, 1, kMostBlocks);
}

Groups deal_out(const LoopSource& source, const LaneProgram& program, unsigned vector_bytes) {
  const unsigned vector = vector_bytes / program.widest_lane();
  const std::int64_t blocks = blocks_side_by_side(program);
  // The widest vectors take longer to answer, which does not pay where one is not filled.
  if (vector_bytes == 64 && source.lanes < vector && blocks > 1)
    return {{vector / 2, vector / 2}, 1, source.lanes};
  const std::int64_t lanes = blocks * 2 * vector;
  return {{vector, 2 * vector}, std::max<std::int64_t>(1, source.lanes / lanes), lanes};
}

/// Whether to take all lanes of a step before the next step, although their states lie in memory
/// then: several groups would read rows in pieces, repeat what is one element for all lanes, wait
/// for what two vectors compute, or keep in memory what does not fit into registers.
bool is_step_by_step(const LoopSource& source, const LaneProgram& program, unsigned vector_bytes) {
  if (is_wide(source)) return true;
  // A little more than fits is taken along by the only group.
  if (4 * source.lanes <= 5 * deal_out(source, program, vector_bytes).lanes) return false;
  std::int64_t kept = 0, bytes = 0;
  for (const auto* operands : {&source.captured, &source.carried})
    for (const LoopOperand& operand : *operands) {
      if (operand.lane_stride == 0) continue;
      ++kept;
      bytes += source.lanes * static_cast<std::int64_t>(dtype_bytes(operand.dtype));
    }
  if (bytes > kMostBytesOfStates) return false;
  const std::int64_t registers = vector_bytes == 64 ? 32 : 16;
  return has_rows(source) || program.uniform_work() > 0 ||
         blocks_side_by_side(program) < kMostBlocks || 2 * kMostBlocks * kept > registers;
}

/// What a group holds of some operands: the elements that are one for all lanes, and the registers
/// of each block of lanes; of each operand there is either, the other is null.
struct Parts {
  explicit Parts(std::size_t blocks) : of_blocks(blocks) {}
  void append(const Parts& other) {
    uniform.insert(uniform.end(), other.uniform.begin(), other.uniform.end());
    for (std::size_t i = 0; i < of_blocks.size(); ++i)
      of_blocks[i].insert(of_blocks[i].end(), other.of_blocks[i].begin(), other.of_blocks[i].end());
  }
  Values uniform;
  std::vector<Values> of_blocks;
};

/// Emits the loop over groups of lanes around the loop over steps. All steps of a group run before
/// the next group begins, so the group's states stay in registers; lanes do not depend on each
/// other. What is one element for all lanes is computed with every group, and stored with the last.
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
  /// The value of a result that is one element for all lanes.
  [[nodiscard]] Value uniform_result(const Values& registers, std::size_t i) const {
    return registers[static_cast<std::size_t>(source_.program.results[i])];
  }

  /// Where the group's lanes of each operand begin.
  Values at_lane(const std::vector<Port>& ports, Value lane) {
    Values addresses;
    for (const Port& port : ports)
      addresses.push_back(loop_.at_lane(*port.operand, port.base, lane));
    return addresses;
  }
  Value at_block(const Port& port, Value address, const LaneBlock& block) {
    return loop_.at_lane(*port.operand, address, loop_.integer(block.first));
  }

  /// The elements of all lanes; those of the blocks are loaded where they are needed.
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
  Parts load(const std::vector<Port>& ports, const Values& addresses) {
    Parts parts(blocks_.size());
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

  /// Each value, or null, as it comes from `before`; close_phis() adds what comes from the loop.
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
  static void close_phis(const Values& made, const Values& next, llvm::BasicBlock* steps) {
    for (std::size_t i = 0; i < made.size(); ++i)
      if (made[i] != nullptr) llvm::cast<llvm::PHINode>(made[i])->addIncoming(next[i], steps);
  }

  /// All steps of the group of lanes from that one on.
  void emit_steps(Value lane) {
    splats_ = Splats();
    const Parts captured = load(loop_.captured, at_lane(loop_.captured, lane));
    // What no step changes is spread over vectors before them.
    for (Value const element : captured.uniform)
      for (const LaneBlock& block : blocks_)
        if (element != nullptr) splats_.of(builder_, element, block.width);
    const Parts initial = load(loop_.carried_in, at_lane(loop_.carried_in, lane));
    // Of a long program each has an address of its own where it is loaded or stored.
    const Values first_slices = is_long_ ? Values() : at_lane(loop_.scanned, lane);
    const Values first_rows = is_long_ ? Values() : at_lane(loop_.stacked, lane);
    llvm::BasicBlock* const before = builder_.GetInsertBlock();
    llvm::BasicBlock* const steps = loop_.block("steps");
    llvm::BasicBlock* const after = loop_.block("steps_done");
    builder_.CreateBr(steps);
    builder_.SetInsertPoint(steps);
    const Values step = phis({loop_.first_step()}, before);
    const Values slices = phis(first_slices, before), rows = phis(first_rows, before);
    Parts states(blocks_.size());
    states.uniform = phis(initial.uniform, before);
    for (std::size_t i = 0; i < blocks_.size(); ++i)
      states.of_blocks[i] = phis(initial.of_blocks[i], before);

    Parts inputs = captured;
    inputs.append(states);
    const Parts next =
        is_long_ ? emit_long_step(inputs, builder_.CreateSub(step[0], loop_.first_step()), lane)
                 : emit_step(inputs, slices, rows);

    Value const next_step = builder_.CreateAdd(step[0], builder_.getInt64(1));
    close_phis(step, {next_step}, steps);
    if (!is_long_) {
      close_phis(slices, advanced(loop_.scanned, slices), steps);
      close_phis(rows, advanced(loop_.stacked, rows), steps);
    }
    close_phis(states.uniform, next.uniform, steps);
    for (std::size_t i = 0; i < blocks_.size(); ++i)
      close_phis(states.of_blocks[i], next.of_blocks[i], steps);
    align_loop(*builder_.CreateCondBr(goes_on(next_step), steps, after));
    builder_.SetInsertPoint(after);
    store_states(next, at_lane(loop_.carried_out, lane));
  }

  /// One step of the group: stores its rows, returns its next states.
  Parts emit_step(const Parts& inputs, const Values& slices, const Values& rows) {
    Parts next(blocks_.size());
    Values elements = inputs.uniform;
    const Values scanned = load_uniform(loop_.scanned, slices);
    elements.insert(elements.end(), scanned.begin(), scanned.end());
    const Values registers = program_.emit_uniform(builder_, std::move(elements));
    if (source_.has_keep_going) keep_going_ = uniform_result(registers, 0);
    for (std::size_t i = 0; i < loop_.carried_out.size(); ++i)
      next.uniform.push_back(uniform_result(registers, result_of_state(i)));
    for (std::size_t i = 0; i < rows.size(); ++i)
      store_uniform(loop_.stacked[i], rows[i], uniform_result(registers, result_of_row(i)));
    for (std::size_t k = 0; k < blocks_.size(); ++k) {
      const LaneBlock& block = blocks_[k];
      Values lanes = inputs.of_blocks[k];
      const Values loaded = load_lanes_of(loop_.scanned, slices, block);
      lanes.insert(lanes.end(), loaded.begin(), loaded.end());
      const Values results = program_.emit_lanes(builder_, registers, lanes, block.width, splats_);
      for (std::size_t i = 0; i < loop_.carried_out.size(); ++i)
        next.of_blocks[k].push_back(results[result_of_state(i)]);
      for (std::size_t i = 0; i < rows.size(); ++i)
        store(loop_.stacked[i], rows[i], results[result_of_row(i)], block);
    }
    return next;
  }

  /// Where a slice or row lies of the step that is so many behind the first of the call.
  Value address(const Port& port, Value passed, Value lane) {
    return loop_.at_lane(*port.operand, loop_.at_step(port, passed), lane);
  }

  /// emit_step() of a long program: loads where they are needed first, rows stored as soon as they
  /// are computed.
  Parts emit_long_step(const Parts& inputs, Value passed, Value lane) {
    const std::size_t first_slice = source_.captured.size() + source_.carried.size();
    const auto store_row = [&](std::size_t i, Value value, const LaneBlock* block) {
      const Port& port = loop_.stacked[i];
      Value const at = address(port, passed, lane);
      block == nullptr ? store_uniform(port, at, value) : store(port, at, value, *block);
    };
    const auto access = [&](const LaneBlock* block) {
      return LateAccess{[=, this](std::size_t reg) {
                          const Port& port = loop_.scanned[reg - first_slice];
                          Value const at = address(port, passed, lane);
                          if (is_uniform(port))
                            return load_lanes(builder_, port.operand->dtype, at, 0, 1);
                          return load_block(builder_, *port.operand, at_block(port, at, *block),
                                            *block);
                        },
                        [=, this](std::size_t reg, Value made) {
                          program_.for_rows_made(reg, block == nullptr,
                                                 [&](std::size_t i) { store_row(i, made, block); });
                        }};
    };
    const std::size_t slices = source_.scanned.size();
    Parts next(blocks_.size());
    Values elements = inputs.uniform;
    elements.resize(elements.size() + slices);
    const LateAccess of_uniform = access(nullptr);
    const Values registers = program_.emit_uniform(builder_, std::move(elements), &of_uniform);
    if (source_.has_keep_going) keep_going_ = uniform_result(registers, 0);
    for (std::size_t i = 0; i < loop_.carried_out.size(); ++i)
      next.uniform.push_back(uniform_result(registers, result_of_state(i)));
    for (const std::size_t i : program_.rows_not_made())
      if (is_uniform(loop_.stacked[i]))
        store_row(i, uniform_result(registers, result_of_row(i)), nullptr);
    for (std::size_t k = 0; k < blocks_.size(); ++k) {
      Values lanes = inputs.of_blocks[k];
      lanes.resize(lanes.size() + slices);
      const LateAccess of_block = access(&blocks_[k]);
      const Values results =
          program_.emit_lanes(builder_, registers, lanes, blocks_[k].width, splats_, &of_block);
      for (std::size_t i = 0; i < loop_.carried_out.size(); ++i)
        next.of_blocks[k].push_back(results[result_of_state(i)]);
      for (const std::size_t i : program_.rows_not_made())
        if (!is_uniform(loop_.stacked[i])) store_row(i, results[result_of_row(i)], &blocks_[k]);
    }
    return next;
  }

  Values advanced(const std::vector<Port>& ports, const Values& addresses) {
    Values next;
    for (std::size_t i = 0; i < ports.size(); ++i)
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

  void store_states(const Parts& states, const Values& addresses) {
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
  if (is_step_by_step(source, program, vector_bytes)) {
    emit_wide_loop(module, source, program, vector_bytes);
    return is_wide(source) || program.lane_work() <= kShortProgram;
  }
  LoopEmitter(module, source, program).emit(deal_out(source, program, vector_bytes));
  return source.lanes == 1;
}

}  // namespace scanloom::jit
