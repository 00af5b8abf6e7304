#include "jit/compiler.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/Target/TargetMachine.h>

#include <mutex>

#include "jit/translate.h"

namespace scanloom::jit {

using loopnest::BodySource;

namespace {

/// Callable code.
struct MachineCode {
  llvm::orc::ExecutorAddr address;
  std::string target;
  std::shared_ptr<void> owner;
  CodeSize size;
};

Expected<MachineCode> build(const Emission& emission) {
  SCANLOOM_TRY(Translation made, translate(emission));
  auto jit = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(made.builder).create();
  if (!jit) return fail(Code::internal, "the compiler failed: {}", text_of(jit.takeError()));
  if (auto error = (*jit)->addIRModule({std::move(made.module), std::move(made.context)}))
    return fail(Code::internal, "the compiler failed: {}", text_of(std::move(error)));
  auto found = (*jit)->lookup(emission.symbol);
  if (!found) return fail(Code::internal, "the compiler failed: {}", text_of(found.takeError()));
  return MachineCode{
      *found, std::move(made.target),
      std::shared_ptr<void>(jit->release(),
                            [](void* owned) { delete static_cast<llvm::orc::LLJIT*>(owned); }),
      made.size};
}

/// Emits a function that does nothing.
bool emit_nothing(llvm::Module& module, const char* symbol) {
  llvm::LLVMContext& context = module.getContext();
  auto* const type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), false);
  auto* const function =
      llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, module);
  llvm::IRBuilder<>(llvm::BasicBlock::Create(context, "entry", function)).CreateRetVoid();
  return true;
}

}  // namespace

void prepare_compiler() {
  static std::once_flag once;
  std::call_once(once, [] {
    constexpr const char* kNothing = "nothing";
    (void)build(
        {.name = kNothing,
         .isa = Isa::baseline,
         .symbol = kNothing,
         .programs = {},
         .emit = [](llvm::Module& module, unsigned) { return emit_nothing(module, kNothing); }});
  });
}

Expected<CompiledLoop> compile_loop(const LoopSource& source) {
  SCANLOOM_TRY(const Emission emission, emission_of(source));
  SCANLOOM_TRY(MachineCode code, build(emission));
  return CompiledLoop{code.address.toPtr<CompiledLoopFn>(), std::move(code.target),
                      std::move(code.owner), code.size};
}

Expected<CompiledBody> compile_body(const BodySource& source) {
  SCANLOOM_TRY(const Emission emission, emission_of(source));
  SCANLOOM_TRY(MachineCode code, build(emission));
  return CompiledBody{code.address.toPtr<CompiledBodyFn>(), std::move(code.target),
                      std::move(code.owner), code.size};
}

}  // namespace scanloom::jit
