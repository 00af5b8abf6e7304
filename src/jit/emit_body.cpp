#include "jit/emit_body.h"

#include "jit/body_function.h"
#include "jit/emit_statements.h"

namespace scanloom::jit {

using loopnest::BodySource;
using loopnest::local_index;
using loopnest::LocalState;
using loopnest::SlotMove;
using loopnest::SlotSwap;

namespace {

/// Emits one loop over the steps, with the statements in order and then the moves of the slots.
class BodyEmitter {
 public:
  BodyEmitter(llvm::Module& module, const BodySource& source, unsigned vector_bytes)
      : body_(module, source, vector_bytes), builder_(body_.builder), source_(source) {}

  void emit() {
    for (const LocalState& state : source_.states) copy(state, place_of(state), now(state));
    llvm::BasicBlock* const entry = builder_.GetInsertBlock();
    llvm::BasicBlock* const steps = body_.block("steps");
    builder_.CreateBr(steps);
    builder_.SetInsertPoint(steps);
    llvm::PHINode* const step = builder_.CreatePHI(builder_.getInt64Ty(), 2, "step");
    step->addIncoming(body_.first_step(), entry);
    body_.open_steps.push_back(step);
    llvm::Value* const goes_on = emit_step();
    llvm::Value* const next = builder_.CreateAdd(step, builder_.getInt64(1));
    step->addIncoming(next, builder_.GetInsertBlock());
    emit_end(steps, next, goes_on);
  }

 private:
  /// Returns whether the loop's condition lets another step follow; null if it has none.
  llvm::Value* emit_step() {
    emit_step_statements(body_);
    llvm::Value* const goes_on =
        source_.keep_going ? body_.load_flag(*source_.keep_going) : nullptr;
    body_.move_slots(source_.moves);
    body_.swap_slots(source_.swaps);
    for (const LocalState& state : source_.states) copy(state, then(state), now(state));
    return goes_on;
  }

  /// Branches to another step, or returns.
  void emit_end(llvm::BasicBlock* steps, llvm::Value* next, llvm::Value* goes_on) {
    llvm::Value* result = body_.last_step();
    llvm::Value* again = builder_.CreateICmpSLT(next, body_.last_step());
    if (body_.time_left != nullptr) {
      llvm::Value* const left = builder_.CreateLoad(builder_.getInt64Ty(), body_.time_left);
      again = builder_.CreateAnd(again, builder_.CreateICmpSGE(left, builder_.getInt64(0)));
      result = next;
    }
    if (goes_on != nullptr) {
      // Short of `last`, or stopped by the condition: -1 - steps, see CompiledBodyFn.
      result = builder_.CreateSelect(goes_on, result, builder_.CreateNot(next));
      again = builder_.CreateAnd(again, goes_on);
    }
    llvm::BasicBlock* const after = body_.block("done");
    builder_.CreateCondBr(again, steps, after);
    builder_.SetInsertPoint(after);
    for (const LocalState& state : source_.states) copy(state, now(state), place_of(state));
    for (const SlotMove& move : source_.moves) body_.give_back(move.slot);
    for (const SlotSwap& swap : source_.swaps) {
      body_.give_back(swap.a);
      body_.give_back(swap.b);
    }
    builder_.CreateRet(result);
  }

  // States in the code's own memory.

  llvm::Value* place_of(const LocalState& state) { return body_.pointer_of(state.slot); }
  llvm::Value* now(const LocalState& state) { return body_.target.locals[local_index(state.now)]; }
  llvm::Value* then(const LocalState& state) {
    return body_.target.locals[local_index(state.then)];
  }

  void copy(const LocalState& state, llvm::Value* from, llvm::Value* to) {
    const auto bytes = static_cast<std::uint64_t>(source_.locals[local_index(state.now)]);
    builder_.CreateMemCpy(to, llvm::MaybeAlign(), from, llvm::MaybeAlign(), bytes);
  }

  BodyFunction body_;
  llvm::IRBuilder<>& builder_;
  const BodySource& source_;
};

}  // namespace

void emit_body(llvm::Module& module, const BodySource& source, unsigned vector_bytes) {
  BodyEmitter(module, source, vector_bytes).emit();
}

}  // namespace scanloom::jit
