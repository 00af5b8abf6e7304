#include "jit/emit_body.h"

#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <cstddef>
#include <set>

#include "jit/body_builder.h"

namespace scanloom::jit {

using loopnest::Access;
using loopnest::BodySource;
using loopnest::DynamicIndex;
using loopnest::DynamicSlice;
using loopnest::InnerState;
using loopnest::local_index;
using loopnest::local_slot;
using loopnest::LocalState;
using loopnest::Nest;
using loopnest::Reduction;
using loopnest::SlotMove;
using loopnest::SlotSet;
using loopnest::SlotSwap;
using loopnest::Statement;

namespace {

constexpr std::uint64_t kLocalAlignment = 64;
/// Above this, registers do not hold the slots' pointers along with what these point to.
constexpr std::size_t kMaxSlotsInRegisters = 64;

static_assert(offsetof(BodyFrame, slots) == 0 && offsetof(BodyFrame, calls) == 8 &&
              offsetof(BodyFrame, failed_call) == 16);

/// Emits one loop over the steps, with the statements in order and then the moves of the slots.
class BodyEmitter : BodyBuilder {
 public:
  BodyEmitter(llvm::Module& module, const BodySource& source, unsigned vector_bytes)
      : BodyBuilder(module.getContext()), source_(source) {
    target_.vector_bytes = vector_bytes;
    llvm::Type* const i64 = builder_.getInt64Ty();
    auto* type = llvm::FunctionType::get(i64, {builder_.getPtrTy(), i64, i64}, false);
    function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, kBodySymbol, module);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
  }

  void emit() {
    llvm::BasicBlock* const entry = block("entry");
    builder_.SetInsertPoint(entry);
    emit_entry();
    llvm::BasicBlock* const steps = block("steps");
    builder_.CreateBr(steps);
    builder_.SetInsertPoint(steps);
    llvm::PHINode* const step = builder_.CreatePHI(builder_.getInt64Ty(), 2, "step");
    step->addIncoming(function_->getArg(1), entry);
    open_steps_.push_back(step);
    llvm::Value* const goes_on = emit_step();
    llvm::Value* const next = builder_.CreateAdd(step, builder_.getInt64(1));
    step->addIncoming(next, builder_.GetInsertBlock());
    emit_end(steps, next, goes_on);
  }

 private:
  /// Loads what all steps use: slots, numbers, the code's own memory.
  void emit_entry() {
    calls_ = field(offsetof(BodyFrame, calls));
    slots_ = field(offsetof(BodyFrame, slots));
    collect_slots();
    load_slots();
    load_numbers();
    target_.with_fma = fuses(source_.isa);
    target_.registers = vector_registers(source_.isa);
    if (charges_time_) {
      time_left_ = builder_.CreateAlloca(builder_.getInt64Ty());
      reset_time_left();
    }
    for (const std::int64_t bytes : source_.locals) target_.locals.push_back(local(bytes));
    for (const LocalState& state : source_.states) copy(state, place_of(state), now(state));
  }

  /// Returns whether the loop's condition lets another step follow; null if it has none.
  llvm::Value* emit_step() {
    if (source_.timed)
      emit_timed(source_.statements);
    else
      emit_statements(source_.statements);
    llvm::Value* const goes_on = source_.keep_going ? load_flag(*source_.keep_going) : nullptr;
    move_slots(source_.moves);
    swap_slots();
    for (const LocalState& state : source_.states) copy(state, then(state), now(state));
    return goes_on;
  }

  /// Branches to another step, or returns.
  void emit_end(llvm::BasicBlock* steps, llvm::Value* next, llvm::Value* goes_on) {
    llvm::Value* result = function_->getArg(2);
    llvm::Value* again = builder_.CreateICmpSLT(next, function_->getArg(2));
    if (charges_time_) {
      llvm::Value* const left = builder_.CreateLoad(builder_.getInt64Ty(), time_left_);
      again = builder_.CreateAnd(again, builder_.CreateICmpSGE(left, builder_.getInt64(0)));
      result = next;
    }
    if (goes_on != nullptr) {
      // Short of `last`, or stopped by the condition: -1 - steps, see CompiledBodyFn.
      result = builder_.CreateSelect(goes_on, result, builder_.CreateNot(next));
      again = builder_.CreateAnd(again, goes_on);
    }
    llvm::BasicBlock* const after = block("done");
    builder_.CreateCondBr(again, steps, after);
    builder_.SetInsertPoint(after);
    for (const LocalState& state : source_.states) copy(state, now(state), place_of(state));
    give_slots_back();
    builder_.CreateRet(result);
  }

  llvm::Value* slot_of_run(std::int32_t index) {
    return place(slots_, static_cast<std::size_t>(index) * sizeof(std::byte*));
  }

  /// Finds which slots the code uses, which of them it moves, and whether it calls kernels.
  void collect_slots() {
    if (source_.keep_going) slots_used_.insert(source_.keep_going->slot);
    for (const SlotMove& move : source_.moves) slots_moved_.insert(move.slot);
    for (const SlotSwap& swap : source_.swaps) slots_moved_.insert({swap.a, swap.b});
    for (const LocalState& state : source_.states) slots_used_.insert(state.slot);
    collect_slots(source_.statements);
    slots_used_.insert(slots_moved_.begin(), slots_moved_.end());
  }

  /// Keeps pointers in registers unless there are too many. Slots that move are kept in the code's
  /// own memory, unless called kernels read them.
  void load_slots() {
    const bool are_few = slots_used_.size() <= kMaxSlotsInRegisters;
    own_slots_ = are_few && !has_calls_;
    for (const std::int32_t index : slots_used_) {
      llvm::Value* place = slot_of_run(index);
      const bool moves = slots_moved_.contains(index);
      if (moves ? own_slots_ : are_few) {
        llvm::Value* const pointer = builder_.CreateLoad(builder_.getPtrTy(), place);
        if (!moves) {
          target_.fixed[index] = pointer;
          continue;
        }
        place = builder_.CreateAlloca(builder_.getPtrTy());
        builder_.CreateStore(pointer, place);
      }
      target_.slots[index] = place;
    }
  }

  void load_numbers() {
    llvm::Value* const parameters = field(offsetof(BodyFrame, parameters));
    for (std::size_t i = 0; i < source_.parameters; ++i)
      target_.parameters.push_back(
          builder_.CreateLoad(builder_.getInt64Ty(), place(parameters, i * sizeof(std::int64_t))));
  }

  void collect_slots(const std::vector<Statement>& statements) {
    const auto add = [&](std::int32_t slot) {
      if (slot >= 0) slots_used_.insert(slot);
    };
    const auto add_set = [&](const SlotSet& set) { slots_moved_.insert(set.slot), add(set.from); };
    for (const Statement& statement : statements) {
      has_calls_ |= statement.kind == Statement::Kind::call;
      charges_time_ |= statement.kind == Statement::Kind::charge;
      for (const Access& read : statement.nest.reads) add(read.slot);
      for (const Access& write : statement.nest.writes) add(write.slot);
      for (const auto* operands : {&statement.nest.reads, &statement.nest.writes})
        for (const Access& operand : *operands)
          for (const DynamicIndex& index : operand.indices) add(index.slot);
      for (const Reduction& reduction : statement.nest.reductions)
        for (const Access& read : reduction.reads) add(read.slot);
      if (statement.kind == Statement::Kind::dynamic_slice) add(statement.slice.index.slot);
      if (statement.kind == Statement::Kind::branch) add(statement.condition.slot);
      if (statement.kind == Statement::Kind::set) add_set(statement.set);
      for (const auto* operand :
           {&statement.loop.trip_count, &statement.loop.condition, &statement.loop.keep_going})
        if (*operand) add((*operand)->slot);
      for (const SlotSet& set : statement.loop.skipped) add_set(set);
      for (const SlotSet& set : statement.loop.before) add_set(set);
      for (const SlotSet& set : statement.loop.after) add_set(set);
      for (const SlotMove& move : statement.loop.moves) slots_moved_.insert(move.slot);
      for (const InnerState& state : statement.loop.states) {
        slots_moved_.insert({state.argument, state.next});
        add_set(state.second);
      }
      collect_slots(statement.inner);
      collect_slots(statement.otherwise);
    }
  }

  void give_slots_back() {
    if (!own_slots_) return;
    for (const SlotMove& move : source_.moves) give_back(move.slot);
    for (const SlotSwap& swap : source_.swaps) {
      give_back(swap.a);
      give_back(swap.b);
    }
  }

  void give_back(std::int32_t index) {
    builder_.CreateStore(pointer_of(index), slot_of_run(index));
  }

  /// Allocates memory that only this code knows, so that what fits can stay in registers.
  llvm::Value* local(std::int64_t bytes) {
    llvm::AllocaInst* const memory = builder_.CreateAlloca(
        llvm::ArrayType::get(builder_.getInt8Ty(), static_cast<std::uint64_t>(bytes)));
    memory->setAlignment(llvm::Align(kLocalAlignment));
    return memory;
  }

  llvm::Value* place_of(const LocalState& state) { return pointer_of(state.slot); }
  llvm::Value* now(const LocalState& state) { return target_.locals[local_index(state.now)]; }
  llvm::Value* then(const LocalState& state) { return target_.locals[local_index(state.then)]; }

  void copy(const LocalState& state, llvm::Value* from, llvm::Value* to) {
    const auto bytes = static_cast<std::uint64_t>(source_.locals[local_index(state.now)]);
    builder_.CreateMemCpy(to, llvm::MaybeAlign(), from, llvm::MaybeAlign(), bytes);
  }

  void emit_call(std::int32_t index) {
    llvm::Value* const hot =
        place(calls_, static_cast<std::size_t>(index) * sizeof(tensor::HotCall));
    llvm::Value* const kernel =
        builder_.CreateLoad(builder_.getPtrTy(), place(hot, offsetof(tensor::HotCall, run)));
    auto* type = llvm::FunctionType::get(builder_.getInt8Ty(), {builder_.getPtrTy()}, false);
    llvm::CallInst* const status =
        builder_.CreateCall(type, kernel, {place(hot, offsetof(tensor::HotCall, call))});
    status->setDoesNotThrow();
    llvm::BasicBlock* const failed = block("failed");
    llvm::BasicBlock* const fine = block("fine");
    builder_.CreateCondBr(builder_.CreateIsNull(status), fine, failed);
    builder_.SetInsertPoint(failed);
    fail_with(index);
    builder_.SetInsertPoint(fine);
  }

  void swap_slots() {
    for (const SlotSwap& swap : source_.swaps) {
      llvm::Value* const a = pointer_of(swap.a);
      llvm::Value* const b = pointer_of(swap.b);
      builder_.CreateStore(b, slot(swap.a));
      builder_.CreateStore(a, slot(swap.b));
    }
  }

  // Statements. They recurse no deeper than kMaxStatementDepth.

  void emit_statements(const std::vector<Statement>& statements) {
    // Known values hold in straight-line code only; calls do not touch the code's own memory.
    target_.known.forget();
    for (const Statement& statement : statements) emit_statement(statement);
  }

  /// Adds the processor clock ticks that each statement takes to its sum.
  void emit_timed(const std::vector<Statement>& statements) {
    target_.known.forget();
    llvm::Value* const ticks = field(offsetof(BodyFrame, ticks));
    llvm::Value* before = read_clock();
    for (std::size_t i = 0; i < statements.size(); ++i) {
      emit_statement(statements[i]);
      llvm::Value* const after = read_clock();
      llvm::Value* const sum = place(ticks, i * sizeof(std::uint64_t));
      llvm::Value* const so_far = builder_.CreateLoad(builder_.getInt64Ty(), sum);
      builder_.CreateStore(builder_.CreateAdd(so_far, builder_.CreateSub(after, before)), sum);
      before = after;
    }
  }

  /// Reads the clock that user programs may read.
  llvm::Value* read_clock() {
    const llvm::Triple machine(function_->getParent()->getTargetTriple());
    return builder_.CreateIntrinsic(
        machine.isX86() ? llvm::Intrinsic::readcyclecounter : llvm::Intrinsic::readsteadycounter,
        {}, {});
  }

  void emit_statement(const Statement& statement) {
    switch (statement.kind) {
      case Statement::Kind::nest:
        emit_nest_or_calls(statement.nest);
        break;
      case Statement::Kind::dynamic_slice:
        emit_dynamic_slice(statement);
        break;
      case Statement::Kind::call:
        emit_call(statement.call);
        break;
      case Statement::Kind::set:
        emit_set(statement.set);
        break;
      case Statement::Kind::branch:
        emit_branch(statement);
        target_.known.forget();
        break;
      case Statement::Kind::loop:
        emit_loop(statement);
        target_.known.forget();
        break;
      case Statement::Kind::charge:
        charge(statement.nanoseconds);
        break;
    }
  }

  /// Updates the budget, which a register holds because it is local to the function.
  void charge(std::int64_t nanoseconds) {
    llvm::Value* const left = builder_.CreateLoad(builder_.getInt64Ty(), time_left_);
    builder_.CreateStore(builder_.CreateSub(left, number(nanoseconds)), time_left_);
  }

  /// Emits the nest. If an index is out of range the kernels run and report it; each reads its own
  /// index in slots of the run.
  void emit_nest_or_calls(const Nest& nest) {
    if (!nest.may_fail()) return emit_nest(builder_, nest, target_);
    llvm::BasicBlock* const after = block("picked");
    target_.outside = block("outside");
    emit_nest(builder_, nest, target_);
    builder_.CreateBr(after);
    builder_.SetInsertPoint(target_.outside);
    if (own_slots_)
      for (const std::int32_t moved : slots_moved_) give_back(moved);
    for (const std::int32_t call : nest.calls) emit_call(call);
    // One of them has failed. Control never returns from here, so what the nest leaves in registers
    // stays known after it.
    fail_with(nest.calls.back());
    builder_.SetInsertPoint(after);
  }

  /// Emits the nest, with its operands moved, and the kernel's call for an index out of range. The
  /// kernel uses slots of the run, so the nest writes there too, and the code's own memory is
  /// unchanged on either path. Moved operands get temporary local slots, forgotten afterwards.
  void emit_dynamic_slice(const Statement& statement) {
    const DynamicSlice& slice = statement.slice;
    llvm::Value* const given = builder_.CreateSExt(
        load_lanes(builder_, slice.index.dtype, base_of(slice.index), 0, 1), builder_.getInt64Ty());
    llvm::Value* const from_end = builder_.CreateAdd(given, number(slice.size));
    llvm::Value* const index =
        builder_.CreateSelect(builder_.CreateICmpSLT(given, number(0)), from_end, given);
    llvm::BasicBlock* const inside = block("inside");
    llvm::BasicBlock* const outside = block("outside");
    llvm::BasicBlock* const after = block("picked");
    builder_.CreateCondBr(builder_.CreateICmpULT(index, number(slice.size)), inside, outside);
    builder_.SetInsertPoint(outside);
    if (own_slots_)
      for (const std::int32_t moved : slots_moved_) give_back(moved);
    emit_call(statement.call);
    builder_.CreateBr(after);
    builder_.SetInsertPoint(inside);
    Nest nest = statement.nest;
    const std::size_t own = target_.locals.size();
    llvm::Value* const moved = builder_.CreateMul(index, number(slice.bytes));
    const auto move = [&](Access& operand) {
      target_.locals.push_back(add_bytes(builder_, base_of(operand), moved));
      operand.slot = local_slot(target_.locals.size() - 1);
      operand.offset = 0;
    };
    if (slice.into) {
      for (Access& write : nest.writes) move(write);
      for (std::size_t i = 1; i < nest.reads.size(); ++i) move(nest.reads[i]);
    } else {
      move(nest.reads[0]);
    }
    emit_nest(builder_, nest, target_);
    for (; target_.locals.size() > own; target_.locals.pop_back())
      target_.known.forget(local_slot(target_.locals.size() - 1));
    builder_.CreateBr(after);
    builder_.SetInsertPoint(after);
  }

  void emit_branch(const Statement& branch) {
    llvm::BasicBlock* const yes = block("then");
    llvm::BasicBlock* const no = block("otherwise");
    llvm::BasicBlock* const after = block("joined");
    builder_.CreateCondBr(load_flag(branch.condition), yes, no);
    builder_.SetInsertPoint(yes);
    emit_statements(branch.inner);
    builder_.CreateBr(after);
    builder_.SetInsertPoint(no);
    emit_statements(branch.otherwise);
    builder_.CreateBr(after);
    builder_.SetInsertPoint(after);
  }

  void emit_loop(const Statement& statement) {
    OpenLoop open = begin_loop(statement.loop);
    emit_statements(statement.inner);
    end_loop(open);
  }

  const BodySource& source_;
  llvm::Value* slots_ = nullptr;
  std::set<std::int32_t> slots_used_, slots_moved_;
  bool has_calls_ = false, own_slots_ = true, charges_time_ = false;
  llvm::Value* calls_ = nullptr;
};

}  // namespace

void emit_body(llvm::Module& module, const BodySource& source, unsigned vector_bytes) {
  BodyEmitter(module, source, vector_bytes).emit();
}

}  // namespace scanloom::jit
