#include "jit/emit_loop.h"

#include <algorithm>

#include "jit/counting_loop.h"
#include "jit/emit_memory.h"
#include "jit/emit_program.h"
#include "jit/emit_stages.h"
#include "jit/emit_wide_loop.h"
#include "jit/loop_function.h"

namespace scanloom::jit {
namespace {

/// Emits the loop over blocks of lanes around the loop over steps. All steps of a block run before
/// the next block begins, so the block's states stay in registers; lanes do not depend on each
/// other.
class LoopEmitter {
 public:
  LoopEmitter(llvm::Module& module, const LoopSource& source)
      : loop_(module, source),
        source_(source),
        builder_(loop_.builder),
        result_(loop_.last_step()) {}

  /// Blocks of `width` lanes first, then of half as many for those that are left, down to one.
  void emit(unsigned width) {
    std::int64_t lane = 0;
    for (; width > 0; width /= 2) {
      const std::int64_t last = lane + (source_.lanes - lane) / width * width;
      if (last > lane) emit_blocks(lane, last, width);
      lane = last;
    }
    builder_.CreateRet(result_);
  }

 private:
  using Port = LoopFunction::Port;

  llvm::Value* load(const LoopOperand& operand, llvm::Value* address, unsigned width) {
    return jit::load_lanes(builder_, operand.dtype, address, operand.lane_stride, width);
  }

  /// The blocks of `width` lanes from lane `first` to `last`.
  void emit_blocks(std::int64_t first, std::int64_t last, unsigned width) {
    emit_counting_loop(builder_, loop_.integer(first), loop_.integer(last), loop_.integer(width),
                       {}, [&](llvm::Value* lane, const auto&) {
                         emit_steps(lane, width);
                         return std::vector<llvm::Value*>();
                       });
  }

  std::vector<llvm::Value*> load_lanes(const std::vector<Port>& ports, llvm::Value* lane,
                                       unsigned width) {
    std::vector<llvm::Value*> values;
    for (const Port& port : ports)
      values.push_back(load(*port.operand, loop_.at_lane(*port.operand, port.base, lane), width));
    return values;
  }

  std::vector<llvm::PHINode*> phis(const std::vector<llvm::Value*>& initial,
                                   llvm::BasicBlock* before) {
    std::vector<llvm::PHINode*> made;
    for (llvm::Value* const value : initial) {
      made.push_back(builder_.CreatePHI(value->getType(), 2));
      made.back()->addIncoming(value, before);
    }
    return made;
  }

  /// All steps of one block of lanes.
  void emit_steps(llvm::Value* lane, unsigned width) {
    const std::vector<llvm::Value*> captured = load_lanes(loop_.captured, lane, width);
    const std::vector<llvm::Value*> initial = load_lanes(loop_.carried_in, lane, width);
    std::vector<llvm::Value*> rows;
    for (const auto* ports : {&loop_.scanned, &loop_.stacked})
      for (const Port& port : *ports) rows.push_back(loop_.at_lane(*port.operand, port.base, lane));
    llvm::BasicBlock* const before = builder_.GetInsertBlock();
    llvm::BasicBlock* const steps = loop_.block("steps");
    llvm::BasicBlock* const after = loop_.block("steps_done");
    builder_.CreateBr(steps);
    builder_.SetInsertPoint(steps);
    llvm::PHINode* const step = builder_.CreatePHI(builder_.getInt64Ty(), 2, "step");
    step->addIncoming(loop_.first_step(), before);
    const std::vector<llvm::PHINode*> carried = phis(initial, before);
    const std::vector<llvm::PHINode*> addresses = phis(rows, before);

    std::vector<llvm::Value*> inputs = captured;
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    for (std::size_t i = 0; i < loop_.scanned.size(); ++i)
      inputs.push_back(load(*loop_.scanned[i].operand, addresses[i], width));
    const std::vector<llvm::Value*> registers =
        emit_program(builder_, source_.program, inputs, width);
    const auto result = [&](std::size_t i) {
      return registers[static_cast<std::size_t>(source_.program.results[i])];
    };
    std::size_t next_result = source_.has_keep_going ? 1 : 0;
    std::vector<llvm::Value*> next;
    for (std::size_t i = 0; i < carried.size(); ++i) next.push_back(result(next_result++));
    for (std::size_t i = 0; i < loop_.stacked.size(); ++i)
      store_lanes(builder_, loop_.stacked[i].operand->dtype, result(next_result++),
                  addresses[loop_.scanned.size() + i], loop_.stacked[i].operand->lane_stride,
                  width);

    llvm::Value* const next_step = builder_.CreateAdd(step, builder_.getInt64(1));
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      const Port& port =
          i < loop_.scanned.size() ? loop_.scanned[i] : loop_.stacked[i - loop_.scanned.size()];
      addresses[i]->addIncoming(builder_.CreateGEP(builder_.getInt8Ty(), addresses[i], port.step),
                                steps);
    }
    step->addIncoming(next_step, steps);
    for (std::size_t i = 0; i < carried.size(); ++i) carried[i]->addIncoming(next[i], steps);
    llvm::Value* again = builder_.CreateICmpSLT(next_step, loop_.last_step());
    if (source_.has_keep_going) {
      llvm::Value* const goes_on = result(0);
      // Short of `last`, or stopped by the condition: -1 - steps, see CompiledLoopFn.
      result_ = builder_.CreateSelect(goes_on, loop_.last_step(), builder_.CreateNot(next_step));
      again = builder_.CreateAnd(again, goes_on);
    }
    builder_.CreateCondBr(again, steps, after);
    builder_.SetInsertPoint(after);
    for (std::size_t i = 0; i < carried.size(); ++i) {
      const LoopOperand& operand = *loop_.carried_out[i].operand;
      store_lanes(builder_, operand.dtype, next[i],
                  loop_.at_lane(operand, loop_.carried_out[i].base, lane), operand.lane_stride,
                  width);
    }
  }

  LoopFunction loop_;
  const LoopSource& source_;
  llvm::IRBuilder<>& builder_;
  llvm::Value* result_;
};

}  // namespace

void emit_loop(llvm::Module& module, const LoopSource& source, unsigned vector_bytes) {
  if (const auto stages = cut_into_stages(source))
    return emit_stages(module, source, *stages, vector_bytes);
  // Two vectors of four-byte lanes: independent chains hide the latency of the recurrence. Wider
  // elements take more vectors, which LLVM splits.
  const unsigned width = std::max(2u, 2 * vector_bytes / 4);
  if (is_wide(source)) return emit_wide_loop(module, source, width, vector_bytes);
  LoopEmitter(module, source).emit(source.lanes == 1 ? 1 : width);
}

}  // namespace scanloom::jit
