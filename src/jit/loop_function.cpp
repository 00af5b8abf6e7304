#include "jit/loop_function.h"

#include "jit/emit_loop.h"

namespace scanloom::jit {

LoopFunction::LoopFunction(llvm::Module& module, const LoopSource& loop)
    : source(loop), builder(module.getContext()) {
  llvm::Type* const pointer = builder.getPtrTy();
  llvm::Type* const i64 = builder.getInt64Ty();
  auto* type = llvm::FunctionType::get(i64, {pointer, i64, i64}, false);
  function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, kLoopSymbol, module);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  builder.SetInsertPoint(block("entry"));
  // The fields of LoopFrame, in their order.
  captured = load_ports(source.captured, 0, -1);
  carried_in = load_ports(source.carried, 1, -1);
  carried_out = load_ports(source.carried, 2, -1);
  scanned = load_ports(source.scanned, 3, 4);
  stacked = load_ports(source.stacked, 5, 6);
}

std::vector<LoopFunction::Port> LoopFunction::load_ports(const std::vector<LoopOperand>& operands,
                                                         unsigned addresses, int strides) {
  const auto load_at = [&](llvm::Value* array, std::size_t index, llvm::Type* type) {
    return builder.CreateLoad(type, builder.CreateConstInBoundsGEP1_64(type, array, index));
  };
  llvm::Type* const pointer = builder.getPtrTy();
  std::vector<Port> ports;
  if (operands.empty()) return ports;
  llvm::Value* const frame = function->getArg(0);
  llvm::Value* const bases = load_at(frame, addresses, pointer);
  llvm::Value* const steps =
      strides < 0 ? nullptr : load_at(frame, static_cast<std::size_t>(strides), pointer);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    Port port{&operands[i], load_at(bases, i, pointer)};
    if (steps != nullptr) {
      port.step = load_at(steps, i, builder.getInt64Ty());
      port.base = builder.CreateGEP(builder.getInt8Ty(), port.base,
                                    builder.CreateMul(port.step, first_step()));
    }
    ports.push_back(port);
  }
  return ports;
}

}  // namespace scanloom::jit
