// An inner loop of a body: its trip count, its slots, and the polls and limits after its steps.
#include <cstddef>

#include "jit/body_builder.h"

namespace scanloom::jit {

using loopnest::InnerLoop;
using loopnest::InnerState;
using loopnest::SlotSet;

BodyBuilder::OpenLoop BodyBuilder::begin_loop(const InnerLoop& loop) {
  OpenLoop open{loop};
  find_trips(open);
  open.after = block("left");
  if (!loop.is_counted()) skip_unless_runs(open);
  for (const SlotSet& set : loop.before) emit_set(set);
  begin_steps(open);
  return open;
}

/// Ends the code if there are fewer slices than steps.
void BodyBuilder::find_trips(OpenLoop& open) {
  const InnerLoop& loop = open.loop;
  open.count = loop.trip_count ? load_lanes(builder_, DType::i64, base_of(*loop.trip_count), 0, 1)
                               : number(loop.trips);
  if (loop.is_counted()) return;
  llvm::Value* has_end = builder_.CreateICmpSLT(open.count, number(loop.endless));
  if (loop.slices != -1) {
    llvm::Value* const slices = number(loop.slices);
    open.count = builder_.CreateSelect(has_end, open.count, slices);
    fail_loop_if(builder_.CreateICmpSGT(open.count, slices), kTooFewSlices, open);
    has_end = builder_.getTrue();
  }
  llvm::Value* const most =
      builder_.CreateSelect(has_end, number_field(offsetof(BodyFrame, max_counted)),
                            number_field(offsetof(BodyFrame, max_endless)));
  open.limited = builder_.CreateICmpSGT(open.count, most);
  open.count = builder_.CreateSelect(open.limited, most, open.count);
}

void BodyBuilder::skip_unless_runs(const OpenLoop& open) {
  llvm::Value* runs = builder_.CreateICmpSGT(open.count, number(0));
  if (open.loop.condition) runs = builder_.CreateAnd(runs, load_flag(*open.loop.condition));
  llvm::BasicBlock* const steps = block("runs");
  llvm::BasicBlock* const skipped = block("skipped");
  builder_.CreateCondBr(runs, steps, skipped);
  builder_.SetInsertPoint(skipped);
  for (const SlotSet& set : open.loop.skipped) emit_set(set);
  builder_.CreateBr(open.after);
  builder_.SetInsertPoint(steps);
}

void BodyBuilder::begin_steps(OpenLoop& open) {
  llvm::Type* const i64 = builder_.getInt64Ty();
  const bool polls = !open.loop.is_counted();
  llvm::Value* const granted = polls ? builder_.CreateLoad(i64, poll_counter(open.loop)) : nullptr;
  llvm::BasicBlock* const before = builder_.GetInsertBlock();
  open.again = block("inner");
  builder_.CreateBr(open.again);
  builder_.SetInsertPoint(open.again);
  open.step = builder_.CreatePHI(i64, 2, "inner_step");
  open.step->addIncoming(builder_.getInt64(0), before);
  if (polls) {
    open.steps_to_poll = builder_.CreatePHI(i64, 2, "steps_to_poll");
    open.steps_to_poll->addIncoming(granted, before);
  }
  open_steps_.push_back(open.step);
}

void BodyBuilder::end_loop(OpenLoop& open) {
  const InnerLoop& loop = open.loop;
  open_steps_.pop_back();
  llvm::Value* const goes_on = loop.keep_going ? load_flag(*loop.keep_going) : nullptr;
  move_slots(loop.moves);
  turn_states(open);
  llvm::Value* const steps_to_poll = loop.is_counted() ? nullptr : poll_if_due(open);
  llvm::Value* const next = builder_.CreateAdd(open.step, builder_.getInt64(1));
  open.step->addIncoming(next, builder_.GetInsertBlock());
  llvm::Value* const left = builder_.CreateICmpSLT(next, open.count);
  llvm::BasicBlock* const done = block("steps_done");
  builder_.CreateCondBr(goes_on == nullptr ? left : builder_.CreateAnd(left, goes_on), open.again,
                        done);
  if (steps_to_poll != nullptr)
    open.steps_to_poll->addIncoming(steps_to_poll, builder_.GetInsertBlock());
  builder_.SetInsertPoint(done);
  if (!loop.is_counted()) {
    builder_.CreateStore(steps_to_poll, poll_counter(loop));
    llvm::Value* at_limit = builder_.CreateAnd(open.limited, builder_.CreateNot(left));
    if (goes_on != nullptr) at_limit = builder_.CreateAnd(at_limit, goes_on);
    fail_loop_if(at_limit, kStepLimit, open);
  }
  for (const SlotSet& set : loop.after) emit_set(set);
  builder_.CreateBr(open.after);
  builder_.SetInsertPoint(open.after);
}

void BodyBuilder::turn_states(const OpenLoop& open) {
  llvm::Value* const is_first = builder_.CreateIsNull(open.step);
  for (const InnerState& state : open.loop.states) {
    llvm::Value* const read = pointer_of(state.argument);
    builder_.CreateStore(pointer_of(state.next), slot(state.argument));
    // The loop must not write what the first step read.
    builder_.CreateStore(builder_.CreateSelect(is_first, place_of(state.second), read),
                         slot(state.next));
  }
}

/// Returns the address of the number of steps before a poll. Steps keep the number in a register.
llvm::Value* BodyBuilder::poll_counter(const InnerLoop& loop) {
  return place(field(offsetof(BodyFrame, steps_to_poll)),
               static_cast<std::size_t>(loop.index) * sizeof(std::int64_t));
}

/// Polls after a step if it is due; returns how many steps then come before the next poll.
llvm::Value* BodyBuilder::poll_if_due(const OpenLoop& open) {
  llvm::Type* const i64 = builder_.getInt64Ty();
  llvm::Value* const zero = builder_.getInt64(0);
  llvm::Value* const left = builder_.CreateSub(open.steps_to_poll, number(open.loop.weight));
  llvm::Value* is_due = builder_.CreateICmpSLE(left, zero);
  if (time_left_ != nullptr)
    is_due = builder_.CreateOr(is_due,
                               builder_.CreateICmpSLT(builder_.CreateLoad(i64, time_left_), zero));
  llvm::BasicBlock* const before = builder_.GetInsertBlock();
  llvm::BasicBlock* const due = block("due");
  llvm::BasicBlock* const fine = block("fine");
  builder_.CreateCondBr(is_due, due, fine);
  builder_.SetInsertPoint(due);
  builder_.CreateStore(left, poll_counter(open.loop));
  llvm::Value* const granted = poll(open);
  llvm::BasicBlock* const polled = builder_.GetInsertBlock();
  builder_.CreateBr(fine);
  builder_.SetInsertPoint(fine);
  llvm::PHINode* const now = builder_.CreatePHI(i64, 2);
  now->addIncoming(left, before);
  now->addIncoming(granted, polled);
  return now;
}

/// Ends the code if the run says so; returns how many steps it grants.
llvm::Value* BodyBuilder::poll(const OpenLoop& open) {
  llvm::Type* const i64 = builder_.getInt64Ty();
  auto* type =
      llvm::FunctionType::get(builder_.getInt1Ty(), {builder_.getPtrTy(), i64, i64, i64}, false);
  llvm::Value* const steps = builder_.CreateAdd(open.step, builder_.getInt64(1));
  llvm::CallInst* const goes_on = builder_.CreateCall(
      type, field(offsetof(BodyFrame, poll)),
      {function_->getArg(0), number(open.loop.index), steps, open_steps_.front()});
  goes_on->setDoesNotThrow();
  goes_on->addRetAttr(llvm::Attribute::ZExt);
  llvm::BasicBlock* const polled = block("polled");
  llvm::BasicBlock* const stopped = block("stopped");
  builder_.CreateCondBr(goes_on, polled, stopped);
  builder_.SetInsertPoint(stopped);
  fail_with(kStopped);
  builder_.SetInsertPoint(polled);
  if (time_left_ != nullptr) reset_time_left();
  return builder_.CreateLoad(i64, poll_counter(open.loop));
}

void BodyBuilder::fail_loop_if(llvm::Value* failed, std::int64_t what, const OpenLoop& open) {
  llvm::BasicBlock* const at_fault = block("at_fault");
  llvm::BasicBlock* const fine = block("fine");
  builder_.CreateCondBr(failed, at_fault, fine);
  builder_.SetInsertPoint(at_fault);
  set_field(offsetof(BodyFrame, failed_loop), number(open.loop.index));
  set_field(offsetof(BodyFrame, failed_trips), open.count);
  fail_with(what);
  builder_.SetInsertPoint(fine);
}

}  // namespace scanloom::jit
