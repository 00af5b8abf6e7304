#include "jit/compiler.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <cassert>
#include <mutex>

#include "base/cpu.h"
#include "jit/called_functions.h"
#include "jit/emit_body.h"
#include "jit/emit_loop.h"
#include "jit/emit_program.h"
#include "jit/module_isa.h"
#include "jit/rare_call.h"
#include "jit/split_blocks.h"

namespace scanloom::jit {

using loopnest::BodySource;
using loopnest::kMaxStatementDepth;
using loopnest::Statement;

namespace {

std::string text_of(llvm::Error error) { return llvm::toString(std::move(error)); }

void initialise_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

/// The LLVM features of an instruction set. Vectors wider than LLVM's default for the CPU are
/// requested by feature, since LLVM decides by the model's name.
struct Target {
  std::string cpu;
  std::vector<std::string> features;
  const char* shown;
};

Target target_for(Isa isa) {
  switch (isa) {
    case Isa::avx512:
      return {"x86-64-v4", {"+fma", "-prefer-256-bit"}, "x86-64-v4, 512-bit vectors"};
    case Isa::avx2:
      return {"x86-64-v3", {"+fma"}, "x86-64-v3, 256-bit vectors"};
    case Isa::baseline:
#if defined(__x86_64__)
      return {"x86-64-v2", {}, "x86-64-v2, 128-bit vectors"};
#endif
    case Isa::neon:
      return {"generic", {"+neon"}, "AArch64, 128-bit vectors"};
  }
  return {"generic", {}, "128-bit vectors"};
}

/// In code longer than this, loops of a few passes are not unrolled. They would make all of it one
/// block, and the time of several LLVM passes grows with the square of a block's length.
constexpr std::size_t kMaxUnrolled = 6000;

/// Scalar loops need the optimizer; explicit vectors mostly do without, but it costs little here.
void optimise(llvm::Module& module, llvm::TargetMachine* machine, const CodeSize& size) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopUnrolling = size.instructions <= kMaxUnrolled;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager calls;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder passes(machine, tuning);
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(calls);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, calls, modules);
  passes.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O1).run(module, modules);
}

using Programs = std::vector<const tensor::ScalarProgram*>;

/// Callable code.
struct MachineCode {
  llvm::orc::ExecutorAddr address;
  std::string target;
  std::shared_ptr<void> owner;
  CodeSize size;
};

CodeSize measure(const llvm::Module& module) {
  CodeSize size;
  for (const llvm::Function& function : module)
    for (const llvm::BasicBlock& block : function) {
      size.instructions += block.size();
      size.longest_block = std::max(size.longest_block, block.size());
    }
  return size;
}

/// Compiles what `emit(module, bytes of a vector)` emits for `programs`; returns the machine code
/// of its function `symbol`. emit returns whether to optimize: scalar code gains much from LLVM's
/// passes, while blocks of vectors give the same code in twice the time.
template <class Emit>
Expected<MachineCode> build(const std::string& name, Isa isa, const char* symbol,
                            const Programs& programs, Emit&& emit) {
  initialise_once();
  const Target target = target_for(isa);
  llvm::orc::JITTargetMachineBuilder machine{llvm::Triple(llvm::sys::getProcessTriple())};
  machine.setCPU(target.cpu).addFeatures(target.features);
  // Nothing may be contracted or reassociated: the bits must be the interpreter's.
  machine.getOptions().AllowFPOpFusion = llvm::FPOpFusion::Strict;
  auto target_machine = machine.createTargetMachine();
  if (!target_machine)
    return fail(Code::internal, "no code for this machine: {}",
                text_of(target_machine.takeError()));
  auto jit = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(machine).create();
  if (!jit) return fail(Code::internal, "the compiler failed: {}", text_of(jit.takeError()));

  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = std::make_unique<llvm::Module>("loop", *context);
  module->setDataLayout((*jit)->getDataLayout());
  module->setTargetTriple((*target_machine)->getTargetTriple().str());
  set_isa(*module, isa);
  set_called(*module, programs);
  const bool optimised = emit(*module, vector_bytes(isa));
  split_long_blocks(*module);
  const CodeSize size = measure(*module);
  for (llvm::Function& function : *module)
    if (!function.isDeclaration())
      function.addFnAttr("prefer-vector-width", std::to_string(8 * vector_bytes(isa)));
  std::string problem;
  llvm::raw_string_ostream problem_stream(problem);
  const bool is_malformed = llvm::verifyModule(*module, &problem_stream);
  // The loop then runs step by step, which no test of its results would notice.
  assert(!is_malformed);
  if (is_malformed) return fail(Code::internal, "loop '{}': malformed code: {}", name, problem);
  inline_rare_calls(*module);
  if (optimised) optimise(*module, target_machine->get(), size);
  if (auto error = (*jit)->addIRModule({std::move(module), std::move(context)}))
    return fail(Code::internal, "the compiler failed: {}", text_of(std::move(error)));
  auto found = (*jit)->lookup(symbol);
  if (!found) return fail(Code::internal, "the compiler failed: {}", text_of(found.takeError()));
  return MachineCode{
      *found, target.shown,
      std::shared_ptr<void>(jit->release(),
                            [](void* owned) { delete static_cast<llvm::orc::LLJIT*>(owned); }),
      size};
}

/// Checks all programs, and that statements nest at most `levels` deep, so that recursion is
/// bounded.
Expected<void> check_statements(const std::vector<Statement>& statements, int levels) {
  if (levels < 0 && !statements.empty())
    return fail(Code::internal, "blocks of a body are nested more than {} deep",
                kMaxStatementDepth);
  for (const Statement& statement : statements) {
    Expected<void> supported;
    for_programs(statement.nest, [&](const tensor::ScalarProgram& program) {
      if (supported) supported = check_supported(program);
    });
    if (!supported) return supported;
    SCANLOOM_CHECK_OK(check_statements(statement.inner, levels - 1));
    SCANLOOM_CHECK_OK(check_statements(statement.otherwise, levels - 1));
  }
  return {};
}

void add_programs(const std::vector<Statement>& statements, Programs& programs) {
  for (const Statement& statement : statements) {
    for_programs(statement.nest,
                 [&](const tensor::ScalarProgram& program) { programs.push_back(&program); });
    add_programs(statement.inner, programs);
    add_programs(statement.otherwise, programs);
  }
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
    const auto emit = [](llvm::Module& module, unsigned) { return emit_nothing(module, kNothing); };
    (void)build(kNothing, Isa::baseline, kNothing, {}, emit);
  });
}

Expected<CompiledLoop> compile_loop(const LoopSource& source) {
  SCANLOOM_CHECK_OK(check_supported(source.program));
  SCANLOOM_TRY(MachineCode code, build(source.name, source.isa, kLoopSymbol, {&source.program},
                                       [&](llvm::Module& module, unsigned vector_bytes) {
                                         return emit_loop(module, source, vector_bytes);
                                       }));
  return CompiledLoop{code.address.toPtr<CompiledLoopFn>(), std::move(code.target),
                      std::move(code.owner), code.size};
}

Expected<CompiledBody> compile_body(const BodySource& source) {
  SCANLOOM_CHECK_OK(check_statements(source.statements, kMaxStatementDepth));
  Programs programs;
  add_programs(source.statements, programs);
  SCANLOOM_TRY(MachineCode code, build("body", source.isa, kBodySymbol, programs,
                                       [&](llvm::Module& module, unsigned vector_bytes) {
                                         emit_body(module, source, vector_bytes);
                                         return true;  // loops and addresses are scalar
                                       }));
  return CompiledBody{code.address.toPtr<CompiledBodyFn>(), std::move(code.target),
                      std::move(code.owner), code.size};
}

}  // namespace scanloom::jit
