#include "jit/emit_inner_loop.h"

#include <cstddef>

namespace scanloom::jit {

using loopnest::InnerState;
using loopnest::SlotSet;

void InnerLoopEmitter::begin() {
  find_trips();
  after_ = body_.block("left");
  if (!loop_.is_counted()) skip_unless_runs();
  for (const SlotSet& set : loop_.before) body_.set_slot(set);
  begin_steps();
}

/// Ends the code if there are fewer slices than steps.
void InnerLoopEmitter::find_trips() {
  count_ = loop_.trip_count
               ? load_lanes(builder_, DType::i64, body_.base_of(*loop_.trip_count), 0, 1)
               : body_.number(loop_.trips);
  if (loop_.is_counted()) return;
  llvm::Value* has_end = builder_.CreateICmpSLT(count_, body_.number(loop_.endless));
  if (loop_.slices != -1) {
    llvm::Value* const slices = body_.number(loop_.slices);
    count_ = builder_.CreateSelect(has_end, count_, slices);
    fail_loop_if(builder_.CreateICmpSGT(count_, slices), kTooFewSlices);
    has_end = builder_.getTrue();
  }
  llvm::Value* const most =
      builder_.CreateSelect(has_end, body_.number_field(offsetof(BodyFrame, max_counted)),
                            body_.number_field(offsetof(BodyFrame, max_endless)));
  limited_ = builder_.CreateICmpSGT(count_, most);
  count_ = builder_.CreateSelect(limited_, most, count_);
}

void InnerLoopEmitter::skip_unless_runs() {
  llvm::Value* runs = builder_.CreateICmpSGT(count_, body_.number(0));
  if (loop_.condition) runs = builder_.CreateAnd(runs, body_.load_flag(*loop_.condition));
  llvm::BasicBlock* const steps = body_.block("runs");
  llvm::BasicBlock* const skipped = body_.block("skipped");
  builder_.CreateCondBr(runs, steps, skipped);
  builder_.SetInsertPoint(skipped);
  for (const SlotSet& set : loop_.skipped) body_.set_slot(set);
  builder_.CreateBr(after_);
  builder_.SetInsertPoint(steps);
}

void InnerLoopEmitter::begin_steps() {
  llvm::Type* const i64 = builder_.getInt64Ty();
  const bool polls = !loop_.is_counted();
  llvm::Value* const granted = polls ? builder_.CreateLoad(i64, poll_counter()) : nullptr;
  llvm::BasicBlock* const before = builder_.GetInsertBlock();
  again_ = body_.block("inner");
  builder_.CreateBr(again_);
  builder_.SetInsertPoint(again_);
  step_ = builder_.CreatePHI(i64, 2, "inner_step");
  step_->addIncoming(builder_.getInt64(0), before);
  if (polls) {
    steps_to_poll_ = builder_.CreatePHI(i64, 2, "steps_to_poll");
    steps_to_poll_->addIncoming(granted, before);
  }
  body_.open_steps.push_back(step_);
}

void InnerLoopEmitter::end() {
  body_.open_steps.pop_back();
  llvm::Value* const goes_on = loop_.keep_going ? body_.load_flag(*loop_.keep_going) : nullptr;
  body_.move_slots(loop_.moves);
  swap_states();
  llvm::Value* const steps_to_poll = loop_.is_counted() ? nullptr : poll_if_due();
  llvm::Value* const next = builder_.CreateAdd(step_, builder_.getInt64(1));
  step_->addIncoming(next, builder_.GetInsertBlock());
  llvm::Value* const left = builder_.CreateICmpSLT(next, count_);
  llvm::BasicBlock* const done = body_.block("steps_done");
  builder_.CreateCondBr(goes_on == nullptr ? left : builder_.CreateAnd(left, goes_on), again_,
                        done);
  if (steps_to_poll != nullptr)
    steps_to_poll_->addIncoming(steps_to_poll, builder_.GetInsertBlock());
  builder_.SetInsertPoint(done);
  if (!loop_.is_counted()) {
    builder_.CreateStore(steps_to_poll, poll_counter());
    llvm::Value* at_limit = builder_.CreateAnd(limited_, builder_.CreateNot(left));
    if (goes_on != nullptr) at_limit = builder_.CreateAnd(at_limit, goes_on);
    fail_loop_if(at_limit, kStepLimit);
  }
  for (const SlotSet& set : loop_.after) body_.set_slot(set);
  builder_.CreateBr(after_);
  builder_.SetInsertPoint(after_);
}

void InnerLoopEmitter::swap_states() {
  llvm::Value* const is_first = builder_.CreateIsNull(step_);
  for (const InnerState& state : loop_.states) {
    llvm::Value* const read = body_.pointer_of(state.argument);
    body_.store_pointer(state.argument, body_.pointer_of(state.next));
    // The loop must not write what the first step read.
    body_.store_pointer(state.next,
                        builder_.CreateSelect(is_first, body_.place_of(state.second), read));
  }
}

/// Returns the address of the number of steps before a poll. Steps keep the number in a register.
llvm::Value* InnerLoopEmitter::poll_counter() {
  return body_.place(body_.field(offsetof(BodyFrame, steps_to_poll)),
                     static_cast<std::size_t>(loop_.index) * sizeof(std::int64_t));
}

/// Polls after a step if it is due; returns how many steps then come before the next poll.
llvm::Value* InnerLoopEmitter::poll_if_due() {
  llvm::Type* const i64 = builder_.getInt64Ty();
  llvm::Value* const zero = builder_.getInt64(0);
  llvm::Value* const left = builder_.CreateSub(steps_to_poll_, body_.number(loop_.weight));
  llvm::Value* is_due = builder_.CreateICmpSLE(left, zero);
  if (body_.time_left != nullptr)
    is_due = builder_.CreateOr(
        is_due, builder_.CreateICmpSLT(builder_.CreateLoad(i64, body_.time_left), zero));
  llvm::BasicBlock* const before = builder_.GetInsertBlock();
  llvm::BasicBlock* const due = body_.block("due");
  llvm::BasicBlock* const fine = body_.block("fine");
  builder_.CreateCondBr(is_due, due, fine);
  builder_.SetInsertPoint(due);
  builder_.CreateStore(left, poll_counter());
  llvm::Value* const granted = poll();
  llvm::BasicBlock* const polled = builder_.GetInsertBlock();
  builder_.CreateBr(fine);
  builder_.SetInsertPoint(fine);
  llvm::PHINode* const now = builder_.CreatePHI(i64, 2);
  now->addIncoming(left, before);
  now->addIncoming(granted, polled);
  return now;
}

/// Ends the code if the run says so; returns how many steps it grants.
llvm::Value* InnerLoopEmitter::poll() {
  llvm::Type* const i64 = builder_.getInt64Ty();
  auto* type =
      llvm::FunctionType::get(builder_.getInt1Ty(), {builder_.getPtrTy(), i64, i64, i64}, false);
  llvm::Value* const steps = builder_.CreateAdd(step_, builder_.getInt64(1));
  llvm::CallInst* const goes_on = builder_.CreateCall(
      type, body_.field(offsetof(BodyFrame, poll)),
      {body_.function->getArg(0), body_.number(loop_.index), steps, body_.open_steps.front()});
  goes_on->setDoesNotThrow();
  goes_on->addRetAttr(llvm::Attribute::ZExt);
  llvm::BasicBlock* const polled = body_.block("polled");
  llvm::BasicBlock* const stopped = body_.block("stopped");
  builder_.CreateCondBr(goes_on, polled, stopped);
  builder_.SetInsertPoint(stopped);
  body_.fail_with(kStopped);
  builder_.SetInsertPoint(polled);
  if (body_.time_left != nullptr) body_.reset_time_left();
  return builder_.CreateLoad(i64, poll_counter());
}

void InnerLoopEmitter::fail_loop_if(llvm::Value* failed, std::int64_t what) {
  llvm::BasicBlock* const at_fault = body_.block("at_fault");
  llvm::BasicBlock* const fine = body_.block("fine");
  builder_.CreateCondBr(failed, at_fault, fine);
  builder_.SetInsertPoint(at_fault);
  body_.set_field(offsetof(BodyFrame, failed_loop), body_.number(loop_.index));
  body_.set_field(offsetof(BodyFrame, failed_trips), count_);
  body_.fail_with(what);
  builder_.SetInsertPoint(fine);
}

}  // namespace scanloom::jit
