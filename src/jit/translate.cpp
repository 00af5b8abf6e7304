#include "jit/translate.h"

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

CodeSize measure(const llvm::Module& module) {
  CodeSize size;
  for (const llvm::Function& function : module)
    for (const llvm::BasicBlock& block : function) {
      size.instructions += block.size();
      size.longest_block = std::max(size.longest_block, block.size());
    }
  return size;
}

/// How code for the instruction set is generated. The relocation and code models are those that
/// LLJIT chooses for its linker, so that listings show what is run.
llvm::orc::JITTargetMachineBuilder machine_for(const Target& target) {
  llvm::orc::JITTargetMachineBuilder machine{llvm::Triple(llvm::sys::getProcessTriple())};
  machine.setCPU(target.cpu).addFeatures(target.features);
  machine.setRelocationModel(llvm::Reloc::PIC_).setCodeModel(llvm::CodeModel::Small);
  // Nothing may be contracted or reassociated: the bits must be the interpreter's.
  machine.getOptions().AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return machine;
}

/// Errors: internal (malformed code).
Expected<void> verify_code(const llvm::Module& module, const std::string& name) {
  std::string problem;
  llvm::raw_string_ostream problem_stream(problem);
  const bool is_malformed = llvm::verifyModule(module, &problem_stream);
  // The loop then runs step by step, which no test of its results would notice.
  assert(!is_malformed);
  if (is_malformed) return fail(Code::internal, "loop '{}': malformed code: {}", name, problem);
  return {};
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

void add_programs(const std::vector<Statement>& statements,
                  std::vector<const tensor::ScalarProgram*>& programs) {
  for (const Statement& statement : statements) {
    for_programs(statement.nest,
                 [&](const tensor::ScalarProgram& program) { programs.push_back(&program); });
    add_programs(statement.inner, programs);
    add_programs(statement.otherwise, programs);
  }
}

}  // namespace

std::string text_of(llvm::Error error) { return llvm::toString(std::move(error)); }

Expected<Emission> emission_of(const LoopSource& source) {
  SCANLOOM_CHECK_OK(check_supported(source.program));
  return Emission{.name = source.name,
                  .isa = source.isa,
                  .symbol = kLoopSymbol,
                  .programs = {&source.program},
                  .emit = [&source](llvm::Module& module, unsigned vector_bytes) {
                    return emit_loop(module, source, vector_bytes);
                  }};
}

Expected<Emission> emission_of(const BodySource& source) {
  SCANLOOM_CHECK_OK(check_statements(source.statements, kMaxStatementDepth));
  Emission emission{.name = "body",
                    .isa = source.isa,
                    .symbol = kBodySymbol,
                    .programs = {},
                    .emit = [&source](llvm::Module& module, unsigned vector_bytes) {
                      emit_body(module, source, vector_bytes);
                      return true;  // loops and addresses are scalar
                    }};
  add_programs(source.statements, emission.programs);
  return emission;
}

Expected<Translation> translate(const Emission& emission, bool optimised) {
  initialise_once();
  const Target target = target_for(emission.isa);
  Translation made{.builder = machine_for(target), .target = target.shown};
  auto machine = made.builder.createTargetMachine();
  if (!machine)
    return fail(Code::internal, "no code for this machine: {}", text_of(machine.takeError()));
  made.machine = std::move(*machine);
  made.context = std::make_unique<llvm::LLVMContext>();
  made.module = std::make_unique<llvm::Module>("loop", *made.context);
  llvm::Module& module = *made.module;
  module.setDataLayout(made.machine->createDataLayout());
  module.setTargetTriple(made.machine->getTargetTriple().str());
  set_isa(module, emission.isa);
  set_called(module, emission.programs);
  const bool gains = emission.emit(module, vector_bytes(emission.isa));
  split_long_blocks(module);
  made.size = measure(module);
  for (llvm::Function& function : module)
    if (!function.isDeclaration())
      function.addFnAttr("prefer-vector-width", std::to_string(8 * vector_bytes(emission.isa)));
  SCANLOOM_CHECK_OK(verify_code(module, emission.name));
  if (!optimised) return made;
  inline_rare_calls(module);
  if (gains) optimise(module, made.machine.get(), made.size);
  return made;
}

}  // namespace scanloom::jit
