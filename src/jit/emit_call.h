// Calls of C++ functions, which generated code makes lane by lane.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstdint>

namespace scanloom::jit {

/// Returns the address of a C++ function, as code of this process sees it.
inline llvm::Value* address_of(llvm::IRBuilder<>& builder, auto* function) {
  return builder.CreateIntToPtr(builder.getInt64(reinterpret_cast<std::uintptr_t>(function)),
                                builder.getPtrTy());
}

/// Calls `function` on each lane of `a` and `b`, which are T.
template <class T>
llvm::Value* emit_call(llvm::IRBuilder<>& builder, T (*function)(T, T), llvm::Value* a,
                       llvm::Value* b) {
  llvm::Type* const lane = a->getType()->getScalarType();
  auto* const type = llvm::FunctionType::get(lane, {lane, lane}, false);
  llvm::Value* const address = address_of(builder, function);
  auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(a->getType());
  if (vector == nullptr) return builder.CreateCall(type, address, {a, b});
  llvm::Value* result = llvm::PoisonValue::get(vector);
  for (unsigned i = 0; i < vector->getNumElements(); ++i) {
    llvm::Value* const one = builder.CreateCall(
        type, address, {builder.CreateExtractElement(a, i), builder.CreateExtractElement(b, i)});
    result = builder.CreateInsertElement(result, one, i);
  }
  return result;
}

}  // namespace scanloom::jit
