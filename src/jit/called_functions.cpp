#include "jit/called_functions.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "jit/interface.h"
#include "jit/module_isa.h"
#include "loopnest/cost.h"

namespace scanloom::jit {
namespace {

using tensor::ScalarOp;

constexpr const char* kCallsFlag = "scanloom.called";

constexpr std::size_t kOps = 64;
static_assert(static_cast<std::size_t>(ScalarOp::pow) < kOps);  // one bit of each function

std::uint64_t bit_of(ScalarOp op) { return std::uint64_t{1} << static_cast<unsigned>(op); }

std::string name_of(ScalarOp op, llvm::Type* type) {
  auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  const unsigned lanes = vector == nullptr ? 1 : vector->getNumElements();
  return std::string("math.") + tensor::scalar_op_name(op) +
         (type->getScalarType()->isDoubleTy() ? ".f64." : ".f32.") + std::to_string(lanes);
}

/// Measured one by one: calling the other functions gains nothing, or loses.
constexpr std::array kLong = {ScalarOp::log, ScalarOp::log1p, ScalarOp::softplus, ScalarOp::erf,
                              ScalarOp::sin, ScalarOp::cos,   ScalarOp::atan,     ScalarOp::pow};

/// Whether vectors of that type take more than one register on a machine with few of them.
bool fills_registers(Isa isa, const llvm::Type* type) {
  constexpr std::size_t kFew = 16;
  const auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  if (vector == nullptr || vector_registers(isa) > kFew) return false;
  return vector->getNumElements() * vector->getScalarSizeInBits() > 8 * vector_bytes(isa);
}

}  // namespace

void set_called(llvm::Module& module, std::span<const tensor::ScalarProgram* const> programs) {
  std::array<int, kOps> count{};
  std::uint64_t called = 0;
  for (const tensor::ScalarProgram* const program : programs)
    for (const tensor::ScalarInstr& instr : program->instrs)
      if (tensor::is_function(instr.op) &&
          ++count[static_cast<std::size_t>(instr.op)] > loopnest::kMaxWrittenOut)
        called |= bit_of(instr.op);
  auto* const bits = llvm::ConstantInt::get(llvm::Type::getInt64Ty(module.getContext()), called);
  module.addModuleFlag(llvm::Module::Warning, kCallsFlag, bits);
}

bool is_called(const llvm::IRBuilder<>& builder, ScalarOp op, const llvm::Type* argument) {
  if (std::ranges::find(kLong, op) != kLong.end() && fills_registers(isa_of(builder), argument))
    return true;
  const auto* const flag = llvm::mdconst::extract<llvm::ConstantInt>(
      builder.GetInsertBlock()->getModule()->getModuleFlag(kCallsFlag));
  return (flag->getZExtValue() & bit_of(op)) != 0;
}

llvm::Value* call_once_emitted(
    llvm::IRBuilder<>& builder, ScalarOp op, llvm::Value* a, llvm::Value* b,
    llvm::function_ref<llvm::Value*(llvm::IRBuilder<>&, llvm::Value*, llvm::Value*)> emit) {
  const bool takes_two = b != nullptr;
  llvm::Module& module = *builder.GetInsertBlock()->getModule();
  const std::string name = name_of(op, a->getType());
  llvm::Function* function = module.getFunction(name);
  if (function == nullptr) {
    std::vector<llvm::Type*> parameters(takes_two ? 2 : 1, a->getType());
    auto* const type = llvm::FunctionType::get(a->getType(), parameters, false);
    function = llvm::Function::Create(type, llvm::Function::InternalLinkage, name, module);
    for (const auto attribute : {llvm::Attribute::NoUnwind, llvm::Attribute::NoInline})
      function->addFnAttr(attribute);
    function->setDoesNotAccessMemory();  // apart from constants
    llvm::IRBuilder<> inside(llvm::BasicBlock::Create(module.getContext(), "entry", function));
    inside.CreateRet(emit(inside, function->getArg(0), takes_two ? function->getArg(1) : nullptr));
  }
  std::vector<llvm::Value*> arguments{a};
  if (takes_two) arguments.push_back(b);
  return builder.CreateCall(function, arguments);
}

}  // namespace scanloom::jit
