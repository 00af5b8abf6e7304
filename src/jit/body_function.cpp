#include "jit/body_function.h"

#include <algorithm>

#include "jit/emit_body.h"

namespace scanloom::jit {

using loopnest::Access;
using loopnest::local_index;
using loopnest::SlotMove;
using loopnest::SlotSet;
using loopnest::SlotSwap;

namespace {

constexpr std::uint64_t kLocalAlignment = 64;
/// Above this, registers do not hold the slots' pointers along with what these point to.
constexpr std::size_t kMaxSlotsInRegisters = 64;

static_assert(offsetof(BodyFrame, slots) == 0 && offsetof(BodyFrame, calls) == 8 &&
              offsetof(BodyFrame, failed_call) == 16);

}  // namespace

BodyFunction::BodyFunction(llvm::Module& module, const loopnest::BodySource& body,
                           unsigned vector_bytes)
    : source(body), builder(module.getContext()), usage_(slot_usage_of(body)) {
  llvm::Type* const i64 = builder.getInt64Ty();
  auto* type = llvm::FunctionType::get(i64, {builder.getPtrTy(), i64, i64}, false);
  function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, kBodySymbol, module);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  target.vector_bytes = vector_bytes;
  target.with_fma = fuses(source.isa);
  target.registers = vector_registers(source.isa);
  builder.SetInsertPoint(block("entry"));
  calls_ = field(offsetof(BodyFrame, calls));
  slots_ = field(offsetof(BodyFrame, slots));
  load_slots();
  load_parameters();
  if (usage_.charges_time) {
    time_left = builder.CreateAlloca(i64);
    reset_time_left();
  }
  for (const std::int64_t bytes : source.locals) target.locals.push_back(allocate_local(bytes));
}

/// Keeps pointers in registers unless there are too many. Slots that move are kept in the code's
/// own memory, unless called kernels read them.
void BodyFunction::load_slots() {
  const bool are_few = usage_.used.size() <= kMaxSlotsInRegisters;
  own_slots_ = are_few && !usage_.has_calls;
  for (const std::int32_t index : usage_.used) {
    llvm::Value* place = slot_of_run(index);
    const bool moves = usage_.moved.contains(index);
    if (moves ? own_slots_ : are_few) {
      llvm::Value* const pointer = builder.CreateLoad(builder.getPtrTy(), place);
      if (!moves) {
        target.fixed[index] = pointer;
        continue;
      }
      place = builder.CreateAlloca(builder.getPtrTy());
      builder.CreateStore(pointer, place);
    }
    target.slots[index] = place;
  }
}

void BodyFunction::load_parameters() {
  llvm::Value* const parameters = field(offsetof(BodyFrame, parameters));
  for (std::size_t i = 0; i < source.parameters; ++i)
    target.parameters.push_back(
        builder.CreateLoad(builder.getInt64Ty(), place(parameters, i * sizeof(std::int64_t))));
}

/// Allocates memory that only this code knows, so that what fits can stay in registers.
llvm::Value* BodyFunction::allocate_local(std::int64_t bytes) {
  llvm::AllocaInst* const memory = builder.CreateAlloca(
      llvm::ArrayType::get(builder.getInt8Ty(), static_cast<std::uint64_t>(bytes)));
  memory->setAlignment(llvm::Align(kLocalAlignment));
  return memory;
}

llvm::BasicBlock* BodyFunction::block(const char* name) {
  return llvm::BasicBlock::Create(builder.getContext(), name, function);
}

llvm::Value* BodyFunction::place(llvm::Value* base, std::size_t bytes) {
  return add_bytes(builder, base, builder.getInt64(bytes));
}

llvm::Value* BodyFunction::field(std::size_t offset) {
  return builder.CreateLoad(builder.getPtrTy(), place(function->getArg(0), offset));
}

llvm::Value* BodyFunction::number_field(std::size_t offset) {
  return builder.CreateLoad(builder.getInt64Ty(), place(function->getArg(0), offset));
}

void BodyFunction::set_field(std::size_t offset, llvm::Value* value) {
  builder.CreateStore(value, place(function->getArg(0), offset));
}

void BodyFunction::reset_time_left() {
  builder.CreateStore(number_field(offsetof(BodyFrame, time_left)), time_left);
}

void BodyFunction::fail_with(std::int64_t what) {
  set_field(offsetof(BodyFrame, failed_call), number(what));
  for (std::size_t level = 0; level < std::min(open_steps.size(), kReportedLevels); ++level)
    set_field(offsetof(BodyFrame, failed_steps) + level * sizeof(std::int64_t), open_steps[level]);
  // Not number(), which would take it for a parameter.
  builder.CreateRet(builder.getInt64(static_cast<std::uint64_t>(kBodyFault)));
}

void BodyFunction::call_kernel(std::int32_t index) {
  llvm::Value* const hot = place(calls_, static_cast<std::size_t>(index) * sizeof(tensor::HotCall));
  llvm::Value* const kernel =
      builder.CreateLoad(builder.getPtrTy(), place(hot, offsetof(tensor::HotCall, run)));
  auto* type = llvm::FunctionType::get(builder.getInt8Ty(), {builder.getPtrTy()}, false);
  llvm::CallInst* const status =
      builder.CreateCall(type, kernel, {place(hot, offsetof(tensor::HotCall, call))});
  status->setDoesNotThrow();
  llvm::BasicBlock* const failed = block("failed");
  llvm::BasicBlock* const fine = block("fine");
  builder.CreateCondBr(builder.CreateIsNull(status), fine, failed);
  builder.SetInsertPoint(failed);
  fail_with(index);
  builder.SetInsertPoint(fine);
}

llvm::Value* BodyFunction::slot_of_run(std::int32_t index) {
  return place(slots_, static_cast<std::size_t>(index) * sizeof(std::byte*));
}

llvm::Value* BodyFunction::base_of(const Access& operand) {
  llvm::Value* const base =
      operand.slot < 0 ? target.locals[local_index(operand.slot)] : pointer_of(operand.slot);
  return place(base, static_cast<std::size_t>(operand.offset));
}

llvm::Value* BodyFunction::load_flag(const Access& operand) {
  return load_lanes(builder, DType::boolean, base_of(operand), 0, 1);
}

llvm::Value* BodyFunction::place_of(const SlotSet& set) {
  return add_bytes(builder, pointer_of(set.from), number(set.offset));
}

void BodyFunction::store_pointer(std::int32_t slot, llvm::Value* pointer) {
  builder.CreateStore(pointer, target.slots.at(slot));
}

void BodyFunction::move_slots(const std::vector<SlotMove>& moves) {
  for (const SlotMove& move : moves)
    store_pointer(move.slot, add_bytes(builder, pointer_of(move.slot), number(move.bytes)));
}

void BodyFunction::swap_slots(const std::vector<SlotSwap>& swaps) {
  for (const SlotSwap& swap : swaps) {
    llvm::Value* const a = pointer_of(swap.a);
    llvm::Value* const b = pointer_of(swap.b);
    store_pointer(swap.a, b);
    store_pointer(swap.b, a);
  }
}

void BodyFunction::give_back(std::int32_t slot) {
  if (own_slots_) builder.CreateStore(pointer_of(slot), slot_of_run(slot));
}

void BodyFunction::give_back_all() {
  for (const std::int32_t slot : usage_.moved) give_back(slot);
}

}  // namespace scanloom::jit
