// Compiles LLVM IR to callable code, for the instruction set that a source names.
#pragma once

#include "jit/interface.h"

namespace scanloom::jit {

/// Plugin::compile.
Expected<CompiledLoop> compile_loop(const LoopSource& source);
/// Plugin::compile_body.
Expected<CompiledBody> compile_body(const loopnest::BodySource& source);
/// Plugin::prepare.
void prepare_compiler();

}  // namespace scanloom::jit
