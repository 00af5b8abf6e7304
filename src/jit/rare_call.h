// A C++ function of those lanes that need it, which are rarely any: a branch around a call. The
// emitters of loops know their own blocks alone, so it is a function of the module until all is
// emitted, and written out then: a call would store all vector registers in every step.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "base/math/replace_lanes.h"
#include "jit/emit_call.h"

namespace scanloom::jit {

/// What the template below calls, for any type of lane: `function` is the address of a T(T), and
/// `replace` that of the math::replace_lanes of T.
llvm::Value* emit_rare_call(llvm::IRBuilder<>& builder, llvm::Value* mask, llvm::Value* a,
                            llvm::Value* x, llvm::Value* function, llvm::Value* replace);

/// function(x) where the mask is set, else `a`, which are vectors of T or one. x is not 0 where the
/// mask is set.
template <class T>
llvm::Value* emit_rare_call(llvm::IRBuilder<>& builder, llvm::Value* mask, llvm::Value* a,
                            llvm::Value* x, T (*function)(T)) {
  void (*const replace)(T*, const T*, std::int64_t, T (*)(T)) = &math::replace_lanes;
  return emit_rare_call(builder, mask, a, x, address_of(builder, function),
                        address_of(builder, replace));
}

/// Writes out all of them, once nothing is appended any more.
void inline_rare_calls(llvm::Module& module);

}  // namespace scanloom::jit
