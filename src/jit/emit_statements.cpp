#include "jit/emit_statements.h"

#include <llvm/TargetParser/Triple.h>

#include <cstddef>

#include "jit/emit_inner_loop.h"

namespace scanloom::jit {

using loopnest::Access;
using loopnest::DynamicSlice;
using loopnest::local_slot;
using loopnest::Nest;
using loopnest::Statement;

namespace {

/// Recurses no deeper than kMaxStatementDepth.
class StatementEmitter {
 public:
  explicit StatementEmitter(BodyFunction& body)
      : body_(body), builder_(body.builder), target_(body.target) {}

  void emit(const std::vector<Statement>& statements) {
    // Known values hold in straight-line code only; calls do not touch the code's own memory.
    target_.known.forget();
    for (const Statement& statement : statements) emit_statement(statement);
  }

  void emit_timed(const std::vector<Statement>& statements) {
    target_.known.forget();
    llvm::Value* const ticks = body_.field(offsetof(BodyFrame, ticks));
    llvm::Value* before = read_clock();
    for (std::size_t i = 0; i < statements.size(); ++i) {
      emit_statement(statements[i]);
      llvm::Value* const after = read_clock();
      llvm::Value* const sum = body_.place(ticks, i * sizeof(std::uint64_t));
      llvm::Value* const so_far = builder_.CreateLoad(builder_.getInt64Ty(), sum);
      builder_.CreateStore(builder_.CreateAdd(so_far, builder_.CreateSub(after, before)), sum);
      before = after;
    }
  }

 private:
  /// Reads the clock that user programs may read.
  llvm::Value* read_clock() {
    const llvm::Triple machine(body_.function->getParent()->getTargetTriple());
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
        body_.call_kernel(statement.call);
        break;
      case Statement::Kind::set:
        body_.set_slot(statement.set);
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
    llvm::Value* const left = builder_.CreateLoad(builder_.getInt64Ty(), body_.time_left);
    builder_.CreateStore(builder_.CreateSub(left, body_.number(nanoseconds)), body_.time_left);
  }

  /// Emits the nest. If an index is out of range the kernels run and report it; each reads its own
  /// index in slots of the run.
  void emit_nest_or_calls(const Nest& nest) {
    if (!nest.may_fail()) return emit_nest(builder_, nest, target_);
    llvm::BasicBlock* const after = body_.block("picked");
    target_.outside = body_.block("outside");
    emit_nest(builder_, nest, target_);
    builder_.CreateBr(after);
    builder_.SetInsertPoint(target_.outside);
    body_.give_back_all();
    for (const std::int32_t call : nest.calls) body_.call_kernel(call);
    // One of them has failed. Control never returns from here, so what the nest leaves in registers
    // stays known after it.
    body_.fail_with(nest.calls.back());
    builder_.SetInsertPoint(after);
  }

  /// Emits the nest, with its operands moved, and the kernel's call for an index out of range. The
  /// kernel uses slots of the run, so the nest writes there too, and the code's own memory is
  /// unchanged on either path.
  void emit_dynamic_slice(const Statement& statement) {
    const DynamicSlice& slice = statement.slice;
    llvm::Value* const index = position_of(slice);
    llvm::BasicBlock* const inside = body_.block("inside");
    llvm::BasicBlock* const outside = body_.block("outside");
    llvm::BasicBlock* const after = body_.block("picked");
    builder_.CreateCondBr(builder_.CreateICmpULT(index, body_.number(slice.size)), inside, outside);
    builder_.SetInsertPoint(outside);
    body_.give_back_all();
    body_.call_kernel(statement.call);
    builder_.CreateBr(after);
    builder_.SetInsertPoint(inside);
    emit_moved(statement.nest, builder_.CreateMul(index, body_.number(slice.bytes)), slice.into);
    builder_.CreateBr(after);
    builder_.SetInsertPoint(after);
  }

  /// Returns the element of the axis that the index selects; negative values count from the end.
  llvm::Value* position_of(const DynamicSlice& slice) {
    llvm::Value* const given = builder_.CreateSExt(
        load_lanes(builder_, slice.index.dtype, body_.base_of(slice.index), 0, 1),
        builder_.getInt64Ty());
    llvm::Value* const from_end = builder_.CreateAdd(given, body_.number(slice.size));
    return builder_.CreateSelect(builder_.CreateICmpSLT(given, body_.number(0)), from_end, given);
  }

  /// Emits the nest with operands (see DynamicSlice::into) `bytes` on. They get temporary local
  /// slots, forgotten afterwards.
  void emit_moved(Nest nest, llvm::Value* bytes, bool into) {
    const std::size_t own = target_.locals.size();
    const auto move = [&](Access& operand) {
      target_.locals.push_back(add_bytes(builder_, body_.base_of(operand), bytes));
      operand.slot = local_slot(target_.locals.size() - 1);
      operand.offset = 0;
    };
    if (into) {
      for (Access& write : nest.writes) move(write);
      for (std::size_t i = 1; i < nest.reads.size(); ++i) move(nest.reads[i]);
    } else {
      move(nest.reads[0]);
    }
    emit_nest(builder_, nest, target_);
    for (; target_.locals.size() > own; target_.locals.pop_back())
      target_.known.forget(local_slot(target_.locals.size() - 1));
  }

  void emit_branch(const Statement& branch) {
    llvm::BasicBlock* const yes = body_.block("then");
    llvm::BasicBlock* const no = body_.block("otherwise");
    llvm::BasicBlock* const after = body_.block("joined");
    builder_.CreateCondBr(body_.load_flag(branch.condition), yes, no);
    builder_.SetInsertPoint(yes);
    emit(branch.inner);
    builder_.CreateBr(after);
    builder_.SetInsertPoint(no);
    emit(branch.otherwise);
    builder_.CreateBr(after);
    builder_.SetInsertPoint(after);
  }

  void emit_loop(const Statement& statement) {
    InnerLoopEmitter loop(body_, statement.loop);
    loop.begin();
    emit(statement.inner);
    loop.end();
  }

  BodyFunction& body_;
  llvm::IRBuilder<>& builder_;
  NestTarget& target_;
};

}  // namespace

void emit_step_statements(BodyFunction& body) {
  StatementEmitter emitter(body);
  const loopnest::BodySource& source = body.source;
  source.timed ? emitter.emit_timed(source.statements) : emitter.emit(source.statements);
}

}  // namespace scanloom::jit
