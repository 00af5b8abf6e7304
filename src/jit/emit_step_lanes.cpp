#include "jit/emit_step_lanes.h"

#include <algorithm>

#include "jit/counting_loop.h"
#include "jit/emit_memory.h"
#include "jit/emit_program.h"
#include "jit/loop_function.h"

namespace scanloom::jit {
namespace {

using tensor::ScalarInstr;
using tensor::ScalarOp;
using tensor::ScalarProgram;
using Value = llvm::Value*;
using Values = std::vector<Value>;

/// Returns whether each register is the same in all steps.
std::vector<bool> find_invariant(const LoopSource& source) {
  const ScalarProgram& program = source.program;
  std::vector<bool> invariant(program.inputs.size() + program.instrs.size());
  std::fill_n(invariant.begin(), source.captured.size(), true);
  for (std::size_t i = 0; i < program.instrs.size(); ++i)
    invariant[program.inputs.size() + i] = std::ranges::all_of(
        program.instrs[i].args,
        [&](std::int32_t arg) { return arg < 0 || invariant[static_cast<std::size_t>(arg)]; });
  return invariant;
}

class StepLanesEmitter {
 public:
  StepLanesEmitter(llvm::Module& module, const LoopSource& source,
                   const std::vector<std::int32_t>& increments)
      : loop_(module, source),
        builder_(loop_.builder),
        program_(source.program),
        increments_(increments),
        is_invariant_(find_invariant(source)),
        first_state_(source.captured.size()),
        first_slice_(first_state_ + source.carried.size()) {}

  /// Emits whole vectors of steps if slices and rows are adjacent, then single steps.
  void emit(unsigned width) {
    load_invariant();
    for (const LoopFunction::Port& port : loop_.carried_in)
      begin_.push_back(load_lanes(builder_, port.operand->dtype, port.base, 1, 1));
    Value const steps = builder_.CreateSub(loop_.last_step(), loop_.first_step());
    Value const in_vectors =
        builder_.CreateAnd(steps, loop_.integer(-static_cast<std::int64_t>(width)));
    Value const whole = builder_.CreateSelect(all_are_dense(), in_vectors, loop_.integer(0));
    emit_steps(loop_.integer(0), whole, width);
    emit_steps(whole, steps, 1);
    for (std::size_t i = 0; i < begin_.size(); ++i)
      store_lanes(builder_, dtype(first_state_ + i), after(i, steps), loop_.carried_out[i].base, 1,
                  1);
    builder_.CreateRet(loop_.last_step());
  }

 private:
  [[nodiscard]] std::size_t inputs() const { return program_.inputs.size(); }
  [[nodiscard]] DType dtype(std::size_t reg) const {
    return program_.register_dtype(static_cast<std::int32_t>(reg));
  }

  void load_invariant() {
    invariant_.resize(is_invariant_.size());
    for (std::size_t i = 0; i < first_state_; ++i)
      invariant_[i] = load_lanes(builder_, dtype(i), loop_.captured[i].base, 1, 1);
    for (std::size_t reg = inputs(); reg < is_invariant_.size(); ++reg)
      if (is_invariant_[reg]) emit_instr(builder_, program_, reg - inputs(), invariant_, 1);
  }

  Value all_are_dense() {
    Value dense = builder_.getTrue();
    for (const auto* ports : {&loop_.scanned, &loop_.stacked})
      for (const LoopFunction::Port& port : *ports) {
        const auto bytes = static_cast<std::int64_t>(dtype_bytes(port.operand->dtype));
        dense = builder_.CreateAnd(dense, builder_.CreateICmpEQ(port.step, loop_.integer(bytes)));
      }
    return dense;
  }

  /// Returns a state after that many steps.
  Value after(std::size_t state, Value steps) {
    Value const increment = invariant_[static_cast<std::size_t>(increments_[state])];
    Value const count = builder_.CreateIntCast(steps, increment->getType(), true);
    return builder_.CreateAdd(begin_[state], builder_.CreateMul(count, increment));
  }
  /// The same for `width` consecutive numbers of steps.
  Value after(std::size_t state, Value steps, unsigned width) {
    if (width == 1) return after(state, steps);
    Value lanes = llvm::PoisonValue::get(
        register_type(builder_.getContext(), dtype(first_state_ + state), width));
    for (unsigned lane = 0; lane < width; ++lane)
      lanes = builder_.CreateInsertElement(
          lanes, after(state, builder_.CreateAdd(steps, loop_.integer(lane))), lane);
    return lanes;
  }

  Value splat(Value element, unsigned width) {
    return width == 1 ? element : builder_.CreateVectorSplat(width, element);
  }

  /// Emits steps [first, last), counted from the first of the call, `width` at a time.
  void emit_steps(Value first, Value last, unsigned width) {
    llvm::BasicBlock* const some = loop_.block("some_steps");
    llvm::BasicBlock* const done = loop_.block("steps_done");
    Values states, strides;
    for (std::size_t i = 0; i < begin_.size(); ++i) {
      states.push_back(after(i, first, width));
      Value const increment = invariant_[static_cast<std::size_t>(increments_[i])];
      auto* const lanes = llvm::ConstantInt::get(increment->getType(), width);
      strides.push_back(splat(builder_.CreateMul(increment, lanes), width));
    }
    builder_.CreateCondBr(builder_.CreateICmpSLT(first, last), some, done);
    builder_.SetInsertPoint(some);
    emit_counting_loop(builder_, first, last, loop_.integer(width), std::move(states),
                       [&](Value passed, const Values& at) {
                         emit_some(passed, at, width);
                         Values next;
                         for (std::size_t i = 0; i < at.size(); ++i)
                           next.push_back(builder_.CreateAdd(at[i], strides[i]));
                         return next;
                       });
    builder_.CreateBr(done);
    builder_.SetInsertPoint(done);
  }

  void emit_some(Value passed, const Values& states, unsigned width) {
    Values values(is_invariant_.size());
    for (std::size_t reg = 0; reg < values.size(); ++reg)
      if (is_invariant_[reg]) values[reg] = splat(invariant_[reg], width);
    std::ranges::copy(states, values.begin() + static_cast<std::ptrdiff_t>(first_state_));
    for (std::size_t i = 0; i < loop_.scanned.size(); ++i)
      values[first_slice_ + i] = load_lanes(builder_, dtype(first_slice_ + i),
                                            loop_.at_step(loop_.scanned[i], passed), 1, width);
    for (std::size_t reg = inputs(); reg < values.size(); ++reg)
      if (!is_invariant_[reg]) emit_instr(builder_, program_, reg - inputs(), values, width);
    for (std::size_t i = 0; i < loop_.stacked.size(); ++i) {
      const auto row = static_cast<std::size_t>(program_.results[begin_.size() + i]);
      store_lanes(builder_, dtype(row), values[row], loop_.at_step(loop_.stacked[i], passed), 1,
                  width);
    }
  }

  LoopFunction loop_;
  llvm::IRBuilder<>& builder_;
  const ScalarProgram& program_;
  const std::vector<std::int32_t>& increments_;
  const std::vector<bool> is_invariant_;
  const std::size_t first_state_, first_slice_;
  Values invariant_;  ///< by register; null if not invariant
  Values begin_;      ///< the states before the first step of the call
};

}  // namespace

std::optional<std::vector<std::int32_t>> increments_of(const LoopSource& source) {
  const ScalarProgram& program = source.program;
  if (source.lanes != 1 || source.has_keep_going || is_long(source)) return std::nullopt;
  const std::vector<bool> invariant = find_invariant(source);
  std::vector<std::int32_t> increments;
  for (std::size_t i = 0; i < source.carried.size(); ++i) {
    const auto state = static_cast<std::int32_t>(source.captured.size() + i);
    const auto next = static_cast<std::size_t>(program.results[i]);
    if (next < program.inputs.size()) return std::nullopt;
    const ScalarInstr& add = program.instrs[next - program.inputs.size()];
    if (add.op != ScalarOp::add || !is_integer(add.dtype)) return std::nullopt;
    const std::int32_t other = add.args[add.args[0] == state ? 1 : 0];
    const bool counts = (add.args[0] == state || add.args[1] == state) && other != state;
    if (!counts || !invariant[static_cast<std::size_t>(other)]) return std::nullopt;
    increments.push_back(other);
  }
  return increments;
}

void emit_step_lanes(llvm::Module& module, const LoopSource& source,
                     const std::vector<std::int32_t>& increments, unsigned vector_bytes) {
  // One vector of the widest elements. With two, LLVM stores the second first, and rows that are
  // not written in address order cost a third of the time.
  std::size_t widest = 4;
  for (std::size_t reg = 0; reg < source.program.inputs.size() + source.program.instrs.size();
       ++reg)
    widest = std::max(widest,
                      dtype_bytes(source.program.register_dtype(static_cast<std::int32_t>(reg))));
  const auto width = static_cast<unsigned>(vector_bytes / widest);
  StepLanesEmitter(module, source, increments).emit(width);
}

}  // namespace scanloom::jit
