// BodyBuilder: the base of what emits a body. Holds the function, the run's frame, slots and inner
// loops; emits at the IR builder's insertion point. emit_body.cpp builds on it.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "jit/emit_memory.h"
#include "jit/emit_nest.h"

namespace scanloom::jit {

class BodyBuilder {
 protected:
  explicit BodyBuilder(llvm::LLVMContext& context) : builder_(context) {}

  llvm::BasicBlock* block(const char* name);
  llvm::Value* place(llvm::Value* base, std::size_t bytes);
  /// Loads a field of the BodyFrame, by offset: a pointer, or an i64.
  llvm::Value* field(std::size_t offset);
  llvm::Value* number_field(std::size_t offset);
  void set_field(std::size_t offset, llvm::Value* value);
  /// Restarts the time budget of this function.
  void reset_time_left();
  /// Ends the code and reports what has failed (BodyFrame::failed_call) and in which steps.
  void fail_with(std::int64_t what);

  llvm::Value* number(std::int64_t value) { return number_of(builder_, target_.parameters, value); }
  llvm::Value* pointer_of(std::int32_t slot) { return jit::pointer_of(builder_, target_, slot); }
  /// The address of a slot that moves.
  llvm::Value* slot(std::int32_t index) { return target_.slots.at(index); }
  llvm::Value* base_of(const loopnest::Access& operand);
  llvm::Value* load_flag(const loopnest::Access& operand);
  llvm::Value* place_of(const loopnest::SlotSet& set);
  void emit_set(const loopnest::SlotSet& set) {
    builder_.CreateStore(place_of(set), slot(set.slot));
  }
  void move_slots(const std::vector<loopnest::SlotMove>& moves);

  /// An inner loop whose steps are being emitted.
  struct OpenLoop {
    const loopnest::InnerLoop& loop;
    llvm::Value* count = nullptr;    ///< how many steps it may take
    llvm::Value* limited = nullptr;  ///< taking all of them is an error; null: the loop is counted
    llvm::BasicBlock *again = nullptr, *after = nullptr;
    llvm::PHINode* step = nullptr;
    llvm::PHINode* steps_to_poll = nullptr;  ///< null: the loop is counted
  };
  // Defined in emit_inner_loop.cpp; the statements of a step are emitted between the two.
  OpenLoop begin_loop(const loopnest::InnerLoop& loop);
  void end_loop(OpenLoop& open);

  llvm::IRBuilder<> builder_;
  NestTarget target_;
  llvm::Function* function_ = nullptr;
  std::vector<llvm::Value*> open_steps_;  ///< of the body, then of the open loops
  llvm::Value* time_left_ = nullptr;      ///< an i64 of the function; null: no time is charged

 private:
  void find_trips(OpenLoop& open);
  void skip_unless_runs(const OpenLoop& open);
  void begin_steps(OpenLoop& open);
  void turn_states(const OpenLoop& open);
  llvm::Value* poll_if_due(const OpenLoop& open);
  llvm::Value* poll(const OpenLoop& open);
  llvm::Value* poll_counter(const loopnest::InnerLoop& loop);
  void fail_loop_if(llvm::Value* failed, std::int64_t what, const OpenLoop& open);
};

}  // namespace scanloom::jit
