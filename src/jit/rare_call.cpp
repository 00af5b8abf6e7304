#include "jit/rare_call.h"

#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <string>
#include <vector>

namespace scanloom::jit {
namespace {

constexpr llvm::StringLiteral kPrefix = "rare.";

std::string name_for(llvm::Type* type) {
  std::string name = kPrefix.str();
  llvm::raw_string_ostream(name) << *type;
  return name;
}

/// Allocates memory for a value of the type.
llvm::AllocaInst* place_for(llvm::IRBuilder<>& builder, llvm::Type* type) {
  llvm::AllocaInst* const place = builder.CreateAlloca(type);
  place->setAlignment(llvm::Align(64));
  return place;
}

/// Calls math::replace_lanes, which reads and writes memory.
llvm::Value* emit_replace(llvm::IRBuilder<>& builder, llvm::Value* results, llvm::Value* lanes,
                          llvm::Value* function, llvm::Value* replace, llvm::Type* type) {
  auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  const unsigned count = vector == nullptr ? 1 : vector->getNumElements();
  llvm::Type* const pointer = builder.getPtrTy();
  auto* const signature = llvm::FunctionType::get(
      builder.getVoidTy(), {pointer, pointer, builder.getInt64Ty(), pointer}, false);
  llvm::CallInst* const call =
      builder.CreateCall(signature, replace, {results, lanes, builder.getInt64(count), function});
  call->setDoesNotThrow();
  call->setOnlyAccessesArgMemory();
  for (const unsigned parameter : {0U, 1U})
    call->addParamAttr(parameter, llvm::Attribute::NoCapture);
  return builder.CreateLoad(type, results);
}

/// Returns the module's function f(mask, a, x, function, replace).
llvm::Function* function_for(llvm::Module& module, llvm::Type* mask, llvm::Type* type) {
  const std::string name = name_for(type);
  if (llvm::Function* const made = module.getFunction(name)) return made;
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* const pointer = llvm::PointerType::getUnqual(context);
  auto* const function = llvm::Function::Create(
      llvm::FunctionType::get(type, {mask, type, type, pointer, pointer}, false),
      llvm::Function::InternalLinkage, name, module);
  function->setDoesNotThrow();
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", function));
  auto* const begin = builder.GetInsertBlock();
  auto* const some = llvm::BasicBlock::Create(context, "some", function);
  auto* const after = llvm::BasicBlock::Create(context, "after", function);
  llvm::Value *const set = function->getArg(0), *const a = function->getArg(1);
  llvm::AllocaInst* const results = place_for(builder, type);
  llvm::AllocaInst* const lanes = place_for(builder, type);
  builder.CreateCondBr(mask->isVectorTy() ? builder.CreateOrReduce(set) : set, some, after,
                       llvm::MDBuilder(context).createUnlikelyBranchWeights());
  builder.SetInsertPoint(some);
  builder.CreateStore(a, results);
  builder.CreateStore(
      builder.CreateSelect(set, function->getArg(2), llvm::Constant::getNullValue(type)), lanes);
  llvm::Value* const replaced =
      emit_replace(builder, results, lanes, function->getArg(3), function->getArg(4), type);
  builder.CreateBr(after);
  builder.SetInsertPoint(after);
  llvm::PHINode* const result = builder.CreatePHI(type, 2);
  result->addIncoming(a, begin);
  result->addIncoming(replaced, some);
  builder.CreateRet(result);
  return function;
}

}  // namespace

llvm::Value* emit_rare_call(llvm::IRBuilder<>& builder, llvm::Value* mask, llvm::Value* a,
                            llvm::Value* x, llvm::Value* function, llvm::Value* replace) {
  llvm::Module& module = *builder.GetInsertBlock()->getModule();
  return builder.CreateCall(function_for(module, mask->getType(), a->getType()),
                            {mask, a, x, function, replace});
}

void inline_rare_calls(llvm::Module& module) {
  std::vector<llvm::Function*> functions;
  for (llvm::Function& function : module)
    if (function.getName().starts_with(kPrefix)) functions.push_back(&function);
  for (llvm::Function* const function : functions) {
    const std::vector<llvm::User*> calls(function->user_begin(), function->user_end());
    for (llvm::User* const call : calls) {
      llvm::InlineFunctionInfo info;
      llvm::InlineFunction(*llvm::cast<llvm::CallBase>(call), info);
    }
    function->eraseFromParent();
  }
}

}  // namespace scanloom::jit
