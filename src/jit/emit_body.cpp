#include "jit/emit_body.h"

#include <cstddef>

#include "jit/emit_memory.h"
#include "jit/emit_nest.h"
#include "jit/emit_program.h"

namespace scanloom::jit {
namespace {

static_assert(offsetof(BodyFrame, slots) == 0 && offsetof(BodyFrame, calls) == 8 &&
              offsetof(BodyFrame, failed_call) == 16);

/// One loop over the steps; in it the statements in their order, then the moves of the slots.
class BodyEmitter {
 public:
  BodyEmitter(llvm::Module& module, const BodySource& source, unsigned vector_bytes)
      : source_(source), builder_(module.getContext()), vector_bytes_(vector_bytes) {
    llvm::Type* const i64 = builder_.getInt64Ty();
    auto* type = llvm::FunctionType::get(i64, {builder_.getPtrTy(), i64, i64}, false);
    function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, kBodySymbol, module);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
  }

  void emit() {
    llvm::BasicBlock* const entry = block("entry");
    builder_.SetInsertPoint(entry);
    slots_ = field(offsetof(BodyFrame, slots));
    calls_ = field(offsetof(BodyFrame, calls));
    llvm::BasicBlock* const steps = block("steps");
    builder_.CreateBr(steps);
    builder_.SetInsertPoint(steps);
    llvm::PHINode* const step = builder_.CreatePHI(builder_.getInt64Ty(), 2, "step");
    step->addIncoming(function_->getArg(1), entry);
    for (const Statement& statement : source_.statements) {
      if (statement.call >= 0)
        emit_call(statement.call);
      else
        emit_nest(builder_, statement.nest, slots_, vector_bytes_, source_.isa != Isa::baseline);
    }
    llvm::Value* const goes_on = source_.keep_going ? load_flag(*source_.keep_going) : nullptr;
    move_slots();
    llvm::Value* const next = builder_.CreateAdd(step, builder_.getInt64(1));
    step->addIncoming(next, builder_.GetInsertBlock());
    llvm::Value* result = function_->getArg(2);
    llvm::Value* again = builder_.CreateICmpSLT(next, function_->getArg(2));
    if (goes_on != nullptr) {
      // Short of `last`, or stopped by the condition: -1 - steps, see CompiledBodyFn.
      result = builder_.CreateSelect(goes_on, result, builder_.CreateNot(next));
      again = builder_.CreateAnd(again, goes_on);
    }
    llvm::BasicBlock* const after = block("done");
    builder_.CreateCondBr(again, steps, after);
    builder_.SetInsertPoint(after);
    builder_.CreateRet(result);
  }

 private:
  llvm::BasicBlock* block(const char* name) {
    return llvm::BasicBlock::Create(builder_.getContext(), name, function_);
  }

  llvm::Value* place(llvm::Value* base, std::size_t bytes) {
    return add_bytes(builder_, base, builder_.getInt64(bytes));
  }

  llvm::Value* field(std::size_t offset) {
    return builder_.CreateLoad(builder_.getPtrTy(), place(function_->getArg(0), offset));
  }

  llvm::Value* slot(std::int32_t index) {
    return place(slots_, static_cast<std::size_t>(index) * sizeof(std::byte*));
  }

  llvm::Value* load_flag(const NestOperand& operand) {
    llvm::Value* const base = builder_.CreateLoad(builder_.getPtrTy(), slot(operand.slot));
    return load_lanes(builder_, DType::boolean,
                      place(base, static_cast<std::size_t>(operand.offset)), 0, 1);
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
    builder_.CreateStore(builder_.getInt64(static_cast<std::uint64_t>(index)),
                         place(function_->getArg(0), offsetof(BodyFrame, failed_call)));
    builder_.CreateRet(builder_.getInt64(static_cast<std::uint64_t>(kBodyFault)));
    builder_.SetInsertPoint(fine);
  }

  void move_slots() {
    llvm::Type* const pointer = builder_.getPtrTy();
    for (const SlotMove& move : source_.moves) {
      llvm::Value* const moved =
          add_bytes(builder_, builder_.CreateLoad(pointer, slot(move.slot)),
                    builder_.getInt64(static_cast<std::uint64_t>(move.bytes)));
      builder_.CreateStore(moved, slot(move.slot));
    }
    for (const SlotSwap& swap : source_.swaps) {
      llvm::Value* const a = builder_.CreateLoad(pointer, slot(swap.a));
      llvm::Value* const b = builder_.CreateLoad(pointer, slot(swap.b));
      builder_.CreateStore(b, slot(swap.a));
      builder_.CreateStore(a, slot(swap.b));
    }
  }

  const BodySource& source_;
  llvm::IRBuilder<> builder_;
  unsigned vector_bytes_;
  llvm::Function* function_ = nullptr;
  llvm::Value* slots_ = nullptr;
  llvm::Value* calls_ = nullptr;
};

}  // namespace

void emit_body(llvm::Module& module, const BodySource& source, unsigned vector_bytes) {
  BodyEmitter(module, source, vector_bytes).emit();
}

}  // namespace scanloom::jit
