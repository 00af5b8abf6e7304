// The mutable half of a Run, shared by the files that implement it.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "plan/binding.h"
#include "plan/plan.h"
#include "runtime/run.h"
#include "tensor/call.h"

namespace scanloom::runtime {

/// Memory of a boxed value; shared between values until one of them is written again.
struct Storage {
  std::unique_ptr<std::byte[]> bytes;
  std::int64_t capacity = 0;
};

/// A value whose sizes only the run knows. Without storage it refers to memory of someone else.
struct BoxedValue {
  std::shared_ptr<Storage> storage;
  tensor::Shape dims, strides;
};

struct LoopState {
  std::int64_t trip = 0;  ///< steps to run, or the step limit where there is no trip count
  std::int64_t step = 0;
  std::int64_t shown = -1;  ///< trip count for progress; -1: not known
  bool limited = false;     ///< reaching `trip` is an error
  // Of compiled loops, so that nothing is allocated when one begins:
  std::vector<const std::byte*> captured, carried_in, scanned;
  std::vector<std::byte*> carried_out, stacked;
  std::vector<std::int64_t> scanned_strides, stacked_strides;
};

struct HotCall {
  tensor::KernelFn run = nullptr;
  tensor::Call call;
};

struct AlignedDelete {
  void operator()(std::byte* data) const;
};
using AlignedBytes = std::unique_ptr<std::byte[], AlignedDelete>;
/// 64-byte aligned, not zeroed; null when there is no memory.
AlignedBytes allocate_aligned(std::int64_t bytes);

struct Run::State {
  std::shared_ptr<const plan::Binding> binding;
  AlignedBytes arena;
  std::vector<std::byte*> slots;
  std::vector<tensor::Operand> operands;
  std::vector<HotCall> calls, dynamic_calls;
  std::vector<LoopState> loops;
  std::vector<BoxedValue> boxed;
  tensor::Fault fault;
  std::int64_t boxed_bytes = 0;  ///< reserved by boxed values in this run
  std::int64_t memory_left = 0;
  std::int64_t steps = 0;

  [[nodiscard]] std::byte*& slot(plan::SlotId id) { return slots[static_cast<std::size_t>(id)]; }
  [[nodiscard]] std::byte* address(const plan::Place& place) {
    return slot(place.slot) + place.offset;
  }
  [[nodiscard]] BoxedValue& box(const plan::Place& place) {
    return boxed[static_cast<std::size_t>(place.dynamic)];
  }
  /// An operand with the sizes that the place has now.
  [[nodiscard]] tensor::Operand operand(const plan::Place& place);
  [[nodiscard]] std::string describe(ir::NodeId node) const {
    return plan::describe(*binding->plan, node);
  }
  [[nodiscard]] Error fault_error(ir::NodeId node) const;

  // run.cpp
  void materialise(int max_threads);
  Expected<RunResult> take_results(std::span<const std::byte* const> feeds);
  Expected<void> execute(const Limits& limits, Watch& watch, Profile* profile);
  Expected<void> copy_boxed_results(RunResult& result);

  // boxed.cpp: values whose sizes only the run knows
  Expected<void> reserve(const plan::Place& place, const tensor::Shape& dims, ir::NodeId node);
  Expected<void> assign(const plan::Place& from, const plan::Place& to, ir::NodeId node);
  Expected<void> run_dynamic(std::uint32_t index);
  Expected<void> append_row(const plan::BoundStacked& port, std::int64_t step, ir::NodeId node);
  Expected<void> finish_rows(const plan::BoundStacked& port, std::int64_t steps, ir::NodeId node);
  Expected<void> empty_rows(const plan::BoundStacked& port, ir::NodeId node);
  Expected<void> first_slice(const plan::BoundScanned& port, std::int64_t steps, ir::NodeId node);

  // loops.cpp
  Expected<bool> enter(std::uint32_t index, const Limits& limits);
  /// Watch::look, its errors naming the loop.
  Expected<void> look(std::uint32_t index, Watch& watch) const;
  Expected<bool> begin_loop(std::uint32_t index, const Limits& limits);
  Expected<bool> end_step(std::uint32_t index, Watch& watch);
  Expected<void> finish_loop(std::uint32_t index);
  Expected<void> run_compiled(std::uint32_t index, const Limits& limits, Watch& watch);
};

}  // namespace scanloom::runtime
