#include "jit/module_isa.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>

namespace scanloom::jit {
namespace {

constexpr const char* kIsaFlag = "scanloom.isa";

}  // namespace

void set_isa(llvm::Module& module, Isa isa) {
  module.addModuleFlag(llvm::Module::Warning, kIsaFlag, static_cast<std::uint32_t>(isa));
}

Isa isa_of(const llvm::IRBuilder<>& builder) {
  const auto* const flag = llvm::mdconst::extract<llvm::ConstantInt>(
      builder.GetInsertBlock()->getModule()->getModuleFlag(kIsaFlag));
  return static_cast<Isa>(flag->getZExtValue());
}

}  // namespace scanloom::jit
