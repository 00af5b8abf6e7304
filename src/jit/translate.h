// Translates what the planner describes to LLVM IR, for the instruction set that a source names:
// for the compiler, which makes it callable, and for the listings of code that people read.
#pragma once

#include <llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "jit/interface.h"

namespace scanloom::jit {

/// The code that a source describes. Refers to the source, which must outlive it.
struct Emission {
  std::string name;  ///< for messages
  Isa isa;
  const char* symbol;  ///< the function that is called
  std::vector<const tensor::ScalarProgram*> programs;
  /// Emits the function, given the bytes of a vector; returns whether to optimize: scalar code
  /// gains much from LLVM's passes, while blocks of vectors give the same code in twice the time.
  std::function<bool(llvm::Module& module, unsigned vector_bytes)> emit;
};

/// Errors: unsupported (an instruction or dtype without machine code), internal.
Expected<Emission> emission_of(const LoopSource& source);
Expected<Emission> emission_of(const loopnest::BodySource& source);

/// LLVM IR, and the machine for which it is generated.
struct Translation {
  llvm::orc::JITTargetMachineBuilder builder;
  std::string target;  ///< for people, see CompiledLoop::target
  std::unique_ptr<llvm::TargetMachine> machine = nullptr;
  std::unique_ptr<llvm::LLVMContext> context = nullptr;  // outlives the module
  std::unique_ptr<llvm::Module> module = nullptr;
  CodeSize size = {};  ///< before LLVM's passes
};

/// Emits, verifies and, with `optimised`, runs LLVM's passes: the form that code is generated from.
/// Errors: internal.
Expected<Translation> translate(const Emission& emission, bool optimised = true);

/// Returns the message of an error of LLVM.
std::string text_of(llvm::Error error);

}  // namespace scanloom::jit
