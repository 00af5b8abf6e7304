#include "jit/emit_remainder.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <cmath>
#include <string>

#include "jit/emit_call.h"
#include "tensor/scalar_arith.h"

namespace scanloom::jit {
namespace {

llvm::Type* with_lanes_of(llvm::Type* type, llvm::Type* lane) {
  auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector == nullptr ? lane : llvm::FixedVectorType::get(lane, vector->getNumElements());
}

/// The remainder for small quotients, and whether all lanes have one.
struct Quick {
  llvm::Value* rest;
  llvm::Value* all_near;
};

Quick emit_quick(llvm::IRBuilder<>& builder, llvm::Value* a, llvm::Value* b) {
  namespace arith = tensor::arith;
  llvm::Type* const type = a->getType();
  const bool wide = type->getScalarType()->isDoubleTy();
  llvm::Type* const in = with_lanes_of(type, builder.getDoubleTy());
  const auto number = [&](double value) { return llvm::ConstantFP::get(in, value); };
  const auto magnitude = [&](llvm::Value* of) {
    return builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, builder.CreateFPCast(of, in));
  };
  llvm::Value* const x = magnitude(a);
  llvm::Value* const y = magnitude(b);
  llvm::Value* const quotient = builder.CreateFDiv(x, y);
  llvm::Value* near = builder.CreateFCmpOLT(
      quotient,
      number(wide ? arith::kRemainderQuotient<double> : arith::kRemainderQuotient<float>));
  near = builder.CreateAnd(near, builder.CreateFCmpOLT(x, number(arith::kMaxRemainderSteps)));
  llvm::Value* const n = builder.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, quotient);
  llvm::Value* rest;
  if (wide) {
    llvm::Type* const bits = with_lanes_of(type, builder.getInt64Ty());
    llvm::Value* const high = builder.CreateBitCast(
        builder.CreateAnd(builder.CreateBitCast(y, bits),
                          llvm::ConstantInt::get(bits, ~arith::kRemainderLow)),
        in);
    rest = builder.CreateFSub(x, builder.CreateFMul(n, high));
    rest = builder.CreateFSub(rest, builder.CreateFMul(n, builder.CreateFSub(y, high)));
  } else {
    rest = builder.CreateFSub(x, builder.CreateFMul(n, y));
  }
  rest = builder.CreateSelect(builder.CreateFCmpOLT(rest, number(0)), builder.CreateFAdd(rest, y),
                              rest);
  rest = builder.CreateSelect(builder.CreateFCmpOLT(x, y), x, rest);
  rest =
      builder.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, builder.CreateFPCast(rest, type), a);
  return {rest, type->isVectorTy() ? builder.CreateAndReduce(near) : near};
}

llvm::Value* emit_slow(llvm::IRBuilder<>& builder, llvm::Value* a, llvm::Value* b) {
  if (a->getType()->getScalarType()->isDoubleTy())
    return emit_call<double>(builder, [](double x, double y) { return std::fmod(x, y); }, a, b);
  return emit_call<float>(builder, [](float x, float y) { return std::fmod(x, y); }, a, b);
}

/// Returns the function for that many lanes. It is a function of the module because it branches,
/// and the emitters of loops know only their own blocks.
llvm::Function* function_for(llvm::Module& module, llvm::Type* type) {
  std::string name = "remainder.";
  llvm::raw_string_ostream(name) << *type;
  if (llvm::Function* const made = module.getFunction(name)) return made;
  auto* const function = llvm::Function::Create(llvm::FunctionType::get(type, {type, type}, false),
                                                llvm::Function::InternalLinkage, name, module);
  llvm::LLVMContext& context = module.getContext();
  auto* const begin = llvm::BasicBlock::Create(context, "", function);
  auto* const near = llvm::BasicBlock::Create(context, "near", function);
  auto* const far = llvm::BasicBlock::Create(context, "far", function);
  llvm::IRBuilder<> builder(begin);
  llvm::Value* const a = function->getArg(0);
  llvm::Value* const b = function->getArg(1);
  const Quick quick = emit_quick(builder, a, b);
  builder.CreateCondBr(quick.all_near, near, far);
  builder.SetInsertPoint(near);
  builder.CreateRet(quick.rest);
  builder.SetInsertPoint(far);
  builder.CreateRet(emit_slow(builder, a, b));
  return function;
}

}  // namespace

llvm::Value* emit_remainder(llvm::IRBuilder<>& builder, llvm::Value* a, llvm::Value* b) {
  llvm::Module& module = *builder.GetInsertBlock()->getModule();
  return builder.CreateCall(function_for(module, a->getType()), {a, b});
}

llvm::Value* emit_modulo(llvm::IRBuilder<>& builder, llvm::Value* a, llvm::Value* b) {
  llvm::Value* const rest = emit_remainder(builder, a, b);
  llvm::Value* const zero = llvm::Constant::getNullValue(a->getType());
  llvm::Value* const differs =
      builder.CreateXor(builder.CreateFCmpOLT(rest, zero), builder.CreateFCmpOLT(b, zero));
  llvm::Value* const mended = builder.CreateSelect(differs, builder.CreateFAdd(rest, b), rest);
  llvm::Value* const signed_zero =
      builder.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, zero, b);
  return builder.CreateSelect(builder.CreateFCmpOEQ(rest, zero), signed_zero, mended);
}

}  // namespace scanloom::jit
