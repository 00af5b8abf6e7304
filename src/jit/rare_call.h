// A C++ function for the few lanes that need it, if any: a branch around a call. The emitters of
// loops know only their own blocks, so it is a function of the module until all code is emitted. It
// is inlined then, since a call would spill all vector registers in every step.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "base/math/replace_lanes.h"
#include "jit/emit_call.h"

namespace scanloom::jit {

/// Called by the template below for any lane type. `function` is the address of a T(T), `replace`
/// that of math::replace_lanes for T.
llvm::Value* emit_rare_call(llvm::IRBuilder<>& builder, llvm::Value* mask, llvm::Value* a,
                            llvm::Value* x, llvm::Value* function, llvm::Value* replace);

/// Returns function(x) where the mask is set, otherwise `a`: vectors of T, or one T. x must not be
/// 0 where the mask is set.
template <class T>
llvm::Value* emit_rare_call(llvm::IRBuilder<>& builder, llvm::Value* mask, llvm::Value* a,
                            llvm::Value* x, T (*function)(T)) {
  void (*const replace)(T*, const T*, std::int64_t, T (*)(T)) = &math::replace_lanes;
  return emit_rare_call(builder, mask, a, x, address_of(builder, function),
                        address_of(builder, replace));
}

/// Inlines all of them. Call once no more code is appended.
void inline_rare_calls(llvm::Module& module);

}  // namespace scanloom::jit
