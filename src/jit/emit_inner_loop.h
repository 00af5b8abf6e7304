// Lowers an inner loop of a body: its trip count, its slots, and the polls and limits after its
// steps. The caller emits the statements of a step between begin() and end().
#pragma once

#include "jit/body_function.h"

namespace scanloom::jit {

class InnerLoopEmitter {
 public:
  InnerLoopEmitter(BodyFunction& body, const loopnest::InnerLoop& loop)
      : body_(body), builder_(body.builder), loop_(loop) {}

  /// The builder is then at the first statement of a step.
  void begin();
  /// The builder is then after the loop.
  void end();

 private:
  void find_trips();
  void skip_unless_runs();
  void begin_steps();
  void swap_states();
  llvm::Value* poll_if_due();
  llvm::Value* poll();
  llvm::Value* poll_counter();
  void fail_loop_if(llvm::Value* failed, std::int64_t what);

  BodyFunction& body_;
  llvm::IRBuilder<>& builder_;
  const loopnest::InnerLoop& loop_;
  llvm::Value* count_ = nullptr;    ///< how many steps it may take
  llvm::Value* limited_ = nullptr;  ///< taking all of them is an error; null: the loop is counted
  llvm::BasicBlock *again_ = nullptr, *after_ = nullptr;
  llvm::PHINode* step_ = nullptr;
  llvm::PHINode* steps_to_poll_ = nullptr;  ///< null: the loop is counted
};

}  // namespace scanloom::jit
