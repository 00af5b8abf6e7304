#include "jit/loop_function.h"

#include <cstddef>

#include "jit/emit_loop.h"
#include "jit/emit_memory.h"
#include "jit/split_blocks.h"

namespace scanloom::jit {
namespace {

/// The fields of LoopFrame; all are pointers.
enum Field : int {
  kCaptured,
  kCarriedIn,
  kCarriedOut,
  kScanned,
  kScannedStrides,
  kStacked,
  kStackedStrides,
  kNoField
};
static_assert(sizeof(LoopFrame) == kNoField * sizeof(void*));
static_assert(offsetof(LoopFrame, scanned_strides) == kScannedStrides * sizeof(void*));
static_assert(offsetof(LoopFrame, stacked_strides) == kStackedStrides * sizeof(void*));

}  // namespace

LoopFunction::LoopFunction(llvm::Module& module, const LoopSource& loop)
    : source(loop), builder(module.getContext()) {
  llvm::Type* const pointer = builder.getPtrTy();
  llvm::Type* const i64 = builder.getInt64Ty();
  auto* type = llvm::FunctionType::get(i64, {pointer, i64, i64}, false);
  function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, kLoopSymbol, module);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  builder.SetInsertPoint(block("entry"));
  captured = load_ports(source.captured, kCaptured, kNoField);
  carried_in = load_ports(source.carried, kCarriedIn, kNoField);
  carried_out = load_ports(source.carried, kCarriedOut, kNoField);
  scanned = load_ports(source.scanned, kScanned, kScannedStrides);
  stacked = load_ports(source.stacked, kStacked, kStackedStrides);
}

bool is_long(const LoopSource& source) {
  const std::size_t operands = source.scanned.size() + source.stacked.size();
  return source.program.instrs.size() + operands > kManyInstructions;
}

llvm::Value* LoopFunction::at_step(const Port& port, llvm::Value* passed) {
  if (port.base == nullptr) {
    const auto load = [&](llvm::Value* array, llvm::Type* type) {
      return builder.CreateLoad(type, builder.CreateConstInBoundsGEP1_64(type, array, port.index));
    };
    llvm::Value* const step = builder.CreateAdd(first_step(), passed);
    return add_bytes(builder, load(port.bases, builder.getPtrTy()),
                     builder.CreateMul(load(port.steps, builder.getInt64Ty()), step));
  }
  return add_bytes(builder, port.base, builder.CreateMul(port.step, passed));
}

llvm::Value* LoopFunction::at_lane(const LoopOperand& operand, llvm::Value* base,
                                   llvm::Value* lane) {
  if (operand.lane_stride == 0) return base;
  const auto bytes = operand.lane_stride * static_cast<std::int64_t>(dtype_bytes(operand.dtype));
  return add_bytes(builder, base, builder.CreateMul(lane, integer(bytes)));
}

std::vector<LoopFunction::Port> LoopFunction::load_ports(const std::vector<LoopOperand>& operands,
                                                         int addresses, int strides) {
  const auto load_at = [&](llvm::Value* array, std::size_t index, llvm::Type* type) {
    return builder.CreateLoad(type, builder.CreateConstInBoundsGEP1_64(type, array, index));
  };
  llvm::Type* const pointer = builder.getPtrTy();
  std::vector<Port> ports;
  if (operands.empty()) return ports;
  llvm::Value* const frame = function->getArg(0);
  const auto field = [&](int number) {
    return number == kNoField ? nullptr : load_at(frame, static_cast<std::size_t>(number), pointer);
  };
  llvm::Value* const bases = field(addresses);
  llvm::Value* const steps = field(strides);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    Port port{&operands[i]};
    port.bases = bases;
    port.steps = steps;
    port.index = i;
    if (steps == nullptr || !is_long()) port.base = load_at(bases, i, pointer);
    if (steps != nullptr && !is_long()) {
      port.step = load_at(steps, i, builder.getInt64Ty());
      port.base = at_step(port, first_step());
    }
    ports.push_back(port);
  }
  return ports;
}

}  // namespace scanloom::jit
