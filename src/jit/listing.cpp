#include "jit/listing.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include "jit/translate.h"

namespace scanloom::jit {
namespace {

/// Returns the text with spaces instead of tabs, whose width terminals choose.
std::string with_spaces(llvm::StringRef text) {
  std::string spaced;
  char before = '\n';
  for (const char c : text) {
    spaced += c != '\t' ? std::string(1, c) : before == '\n' ? "    " : " ";
    before = c;
  }
  return spaced;
}

Expected<std::string> assembly_of(Translation& made) {
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if (made.machine->addPassesToEmitFile(passes, stream, nullptr,
                                        llvm::CodeGenFileType::AssemblyFile))
    return fail(Code::unsupported, "LLVM writes no assembly for this machine");
  passes.run(*made.module);
  return with_spaces(text);
}

Expected<std::string> list(const Emission& emission, CodeForm form) {
  SCANLOOM_TRY(Translation made, translate(emission, form != CodeForm::llvm_unoptimised));
  if (form == CodeForm::assembly) return assembly_of(made);
  std::string text;
  llvm::raw_string_ostream stream(text);
  made.module->print(stream, nullptr);
  return text;
}

}  // namespace

Expected<std::string> list_loop(const LoopSource& source, CodeForm form) {
  SCANLOOM_TRY(const Emission emission, emission_of(source));
  return list(emission, form);
}

Expected<std::string> list_body(const loopnest::BodySource& source, CodeForm form) {
  SCANLOOM_TRY(const Emission emission, emission_of(source));
  return list(emission, form);
}

}  // namespace scanloom::jit
