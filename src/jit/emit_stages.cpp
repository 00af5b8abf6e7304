#include "jit/emit_stages.h"

#include <algorithm>
#include <map>

#include "jit/counting_loop.h"
#include "jit/emit_memory.h"
#include "jit/emit_program.h"
#include "jit/loop_function.h"

namespace scanloom::jit {
namespace {

/// Steps of a chunk: with its buffers it fits in the L1 cache.
constexpr std::int64_t kChunk = 256;

/// Emits chunk by chunk, one loop per stage. What other stages read goes through buffers; states
/// are in memory between the loops that carry them.
class StageEmitter {
 public:
  StageEmitter(llvm::Module& module, const LoopSource& source, const Stages& stages, unsigned width)
      : loop_(module, source),
        builder_(loop_.builder),
        program_(source.program),
        stages_(stages),
        width_(width),
        first_state_(source.captured.size()),
        first_slice_(first_state_ + source.carried.size()) {}

  void emit() {
    make_buffers();
    load_invariant();
    for (const LoopFunction::Port& port : loop_.carried_in) {
      llvm::Value* const state = builder_.CreateAlloca(memory(port.operand->dtype));
      store(port.operand->dtype, load(port.operand->dtype, port.base), state);
      states_.push_back(state);
    }
    emit_chunks();
    for (std::size_t i = 0; i < states_.size(); ++i) {
      const LoopFunction::Port& port = loop_.carried_out[i];
      store(port.operand->dtype, load(port.operand->dtype, states_[i]), port.base);
    }
    builder_.CreateRet(loop_.last_step());
  }

 private:
  using Registers = std::vector<llvm::Value*>;  // null where this loop does not have it

  [[nodiscard]] std::size_t inputs() const { return program_.inputs.size(); }
  [[nodiscard]] std::size_t registers() const { return inputs() + program_.instrs.size(); }
  [[nodiscard]] DType dtype(std::size_t reg) const {
    return program_.register_dtype(static_cast<std::int32_t>(reg));
  }
  [[nodiscard]] std::size_t next_of(std::size_t state) const {
    return static_cast<std::size_t>(program_.results[state]);
  }
  [[nodiscard]] std::size_t row(std::size_t stacked) const {
    return static_cast<std::size_t>(program_.results[states_.size() + stacked]);
  }
  /// Returns the even stage that stores the row.
  [[nodiscard]] int stage_of_row(std::size_t stacked) const {
    return Stages::even_from(stages_.of[row(stacked)]);
  }

  llvm::Type* memory(DType dtype) { return memory_type(builder_.getContext(), dtype, 1); }
  llvm::Value* load(DType dtype, llvm::Value* address, unsigned width = 1) {
    return load_lanes(builder_, dtype, address, 1, width);
  }
  void store(DType dtype, llvm::Value* value, llvm::Value* address, unsigned width = 1) {
    store_lanes(builder_, dtype, value, address, 1, width);
  }

  /// Allocates buffers for whole vectors: elements after the last step are computed but not used.
  void make_buffers() {
    // As many elements as the first chunk has, in whole vectors: later chunks are no larger.
    llvm::Value* const steps = builder_.CreateSub(loop_.last_step(), loop_.first_step());
    llvm::Value* const most = builder_.CreateSelect(
        builder_.CreateICmpSLT(steps, loop_.integer(kChunk)), steps, loop_.integer(kChunk));
    llvm::Value* const elements =
        builder_.CreateAnd(builder_.CreateAdd(most, loop_.integer(width_ - 1)),
                           loop_.integer(-static_cast<std::int64_t>(width_)));
    for (const std::int32_t reg : stages_.crossing) {
      llvm::Type* const type = memory(dtype(static_cast<std::size_t>(reg)));
      llvm::AllocaInst* const buffer = builder_.CreateAlloca(type, loop_.integer(kChunk));
      buffer->setAlignment(llvm::Align(64));
      const auto bytes =
          static_cast<std::int64_t>(dtype_bytes(dtype(static_cast<std::size_t>(reg))));
      builder_.CreateMemSet(buffer, builder_.getInt8(0),
                            builder_.CreateMul(elements, loop_.integer(bytes)), llvm::Align(64));
      buffers_[static_cast<std::size_t>(reg)] = buffer;
    }
  }

  void load_invariant() {
    invariant_.resize(registers());
    for (std::size_t i = 0; i < first_state_; ++i)
      invariant_[i] = load(dtype(i), loop_.captured[i].base);
    emit_instrs(Stages::kInvariant, invariant_, 1, nullptr);
  }

  void emit_chunks() {
    const auto chunk = [&](llvm::Value* done, const auto&) {
      llvm::Value* const left = builder_.CreateSub(loop_.last_step(), done);
      llvm::Value* const steps = builder_.CreateSelect(
          builder_.CreateICmpSLT(left, loop_.integer(kChunk)), left, loop_.integer(kChunk));
      for (int stage = 0; stage < stages_.count; ++stage)
        if (stage % 2 == 0)
          emit_steps(stage, builder_.CreateSub(done, loop_.first_step()), steps);
        else
          emit_vectors(stage, steps);
      return Registers();
    };
    emit_counting_loop(builder_, loop_.first_step(), loop_.last_step(), loop_.integer(kChunk), {},
                       chunk);
  }

  /// Emits an even stage.
  void emit_steps(int stage, llvm::Value* passed, llvm::Value* steps) {
    std::vector<std::size_t> states;
    Registers initial;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      if (stages_.of[first_state_ + i] != stage) continue;
      states.push_back(i);
      initial.push_back(load(dtype(first_state_ + i), states_[i]));
    }
    const auto pass = [&](llvm::Value* at, const Registers& carried) {
      Registers values(registers()), next;
      for (std::size_t k = 0; k < states.size(); ++k) values[first_state_ + states[k]] = carried[k];
      llvm::Value* const step = builder_.CreateAdd(passed, at);
      if (stage == 0)
        for (std::size_t i = 0; i < loop_.scanned.size(); ++i)
          values[first_slice_ + i] =
              load(dtype(first_slice_ + i), loop_.at_step(loop_.scanned[i], step));
      emit_instrs(stage, values, 1, at);
      for (const std::size_t state : states) next.push_back(value(next_of(state), values, 1, at));
      store_crossing(stage, values, 1, at);
      for (std::size_t i = 0; i < loop_.stacked.size(); ++i)
        if (stage_of_row(i) == stage)
          store(loop_.stacked[i].operand->dtype, value(row(i), values, 1, at),
                loop_.at_step(loop_.stacked[i], step));
      return next;
    };
    const Registers last =
        emit_counting_loop(builder_, loop_.integer(0), steps, loop_.integer(1), initial, pass);
    for (std::size_t k = 0; k < states.size(); ++k)
      store(dtype(first_state_ + states[k]), last[k], states_[states[k]]);
  }

  /// Emits an odd stage.
  void emit_vectors(int stage, llvm::Value* steps) {
    emit_counting_loop(builder_, loop_.integer(0), steps, loop_.integer(width_), {},
                       [&](llvm::Value* at, const auto&) {
                         Registers values(registers());
                         emit_instrs(stage, values, width_, at);
                         store_crossing(stage, values, width_, at);
                         return Registers();
                       });
  }

  llvm::Value* place_in_buffer(std::size_t reg, llvm::Value* at) {
    return builder_.CreateGEP(memory(dtype(reg)), buffers_.at(reg), at);
  }

  /// Returns a register as the current loop reads it: its own, an invariant one, or from a buffer.
  llvm::Value* value(std::size_t reg, Registers& values, unsigned width, llvm::Value* at) {
    if (values[reg] != nullptr) return values[reg];
    if (stages_.of[reg] == Stages::kInvariant)
      values[reg] =
          width == 1 ? invariant_[reg] : builder_.CreateVectorSplat(width, invariant_[reg]);
    else
      values[reg] = load(dtype(reg), place_in_buffer(reg, at), width);
    return values[reg];
  }

  void emit_instrs(int stage, Registers& values, unsigned width, llvm::Value* at) {
    for (std::size_t reg = inputs(); reg < registers(); ++reg) {
      if (stages_.of[reg] != stage) continue;
      for (const std::int32_t arg : program_.instrs[reg - inputs()].args)
        if (arg >= 0) value(static_cast<std::size_t>(arg), values, width, at);
      emit_instr(builder_, program_, reg - inputs(), values, width);
    }
  }

  void store_crossing(int stage, const Registers& values, unsigned width, llvm::Value* at) {
    for (const auto& [reg, buffer] : buffers_)
      if (stages_.of[reg] == stage) store(dtype(reg), values[reg], place_in_buffer(reg, at), width);
  }

  LoopFunction loop_;
  llvm::IRBuilder<>& builder_;
  const tensor::ScalarProgram& program_;
  const Stages& stages_;
  const unsigned width_;
  const std::size_t first_state_, first_slice_;
  std::map<std::size_t, llvm::Value*> buffers_;  // by register
  std::vector<llvm::Value*> states_;
  Registers invariant_;
};

}  // namespace

void emit_stages(llvm::Module& module, const LoopSource& source, const Stages& stages,
                 unsigned vector_bytes) {
  // Two vectors of eight-byte elements hide the latency of functions.
  const unsigned width = std::max(2u, 2 * vector_bytes / 8);
  StageEmitter(module, source, stages, width).emit();
}

}  // namespace scanloom::jit
