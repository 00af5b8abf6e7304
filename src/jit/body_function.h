// BodyFunction: the LLVM function of a BodySource, with access to the fields of its BodyFrame, to
// the run's slots and to the code's own memory. Emits at the builder's insertion point.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "jit/emit_memory.h"
#include "jit/emit_nest.h"
#include "jit/slot_usage.h"

namespace scanloom::jit {

class BodyFunction {
 public:
  /// Loads what all steps use: slots, parameters, the code's own memory. The builder is then in the
  /// function's first block. `vector_bytes`: the width of the machine's vectors.
  BodyFunction(llvm::Module& module, const loopnest::BodySource& body, unsigned vector_bytes);

  // The frame.

  [[nodiscard]] llvm::Value* first_step() const { return function->getArg(1); }
  [[nodiscard]] llvm::Value* last_step() const { return function->getArg(2); }
  llvm::BasicBlock* block(const char* name);
  llvm::Value* place(llvm::Value* base, std::size_t bytes);
  /// Loads a field of the BodyFrame, by offset: a pointer, or an i64.
  llvm::Value* field(std::size_t offset);
  llvm::Value* number_field(std::size_t offset);
  void set_field(std::size_t offset, llvm::Value* value);
  llvm::Value* number(std::int64_t value) { return number_of(builder, target.parameters, value); }
  /// Restarts the time budget of this function.
  void reset_time_left();
  /// Ends the code and reports what has failed (BodyFrame::failed_call) and in which steps.
  void fail_with(std::int64_t what);
  /// Calls a kernel, by its index in BodyFrame::calls. Ends the code if it fails.
  void call_kernel(std::int32_t index);

  // Slots.

  llvm::Value* pointer_of(std::int32_t slot) { return jit::pointer_of(builder, target, slot); }
  llvm::Value* base_of(const loopnest::Access& operand);
  llvm::Value* load_flag(const loopnest::Access& operand);
  llvm::Value* place_of(const loopnest::SlotSet& set);
  void store_pointer(std::int32_t slot, llvm::Value* pointer);
  void set_slot(const loopnest::SlotSet& set) { store_pointer(set.slot, place_of(set)); }
  void move_slots(const std::vector<loopnest::SlotMove>& moves);
  void swap_slots(const std::vector<loopnest::SlotSwap>& swaps);
  /// Stores in the run where a slot that moves points now, if the code keeps that to itself.
  void give_back(std::int32_t slot);
  void give_back_all();

  const loopnest::BodySource& source;
  llvm::IRBuilder<> builder;
  NestTarget target;
  llvm::Function* function = nullptr;
  std::vector<llvm::Value*> open_steps;  ///< of the body, then of the inner loops around
  llvm::Value* time_left = nullptr;      ///< an i64 of the function; null: no time is charged

 private:
  void load_slots();
  void load_parameters();
  llvm::Value* allocate_local(std::int64_t bytes);
  llvm::Value* slot_of_run(std::int32_t index);

  const SlotUsage usage_;
  bool own_slots_ = true;  ///< whether slots that move are kept in the code's own memory
  llvm::Value* slots_ = nullptr;
  llvm::Value* calls_ = nullptr;
};

}  // namespace scanloom::jit
