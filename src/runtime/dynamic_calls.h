// DynamicCalls: calls whose sizes are known only at run time. For each call it infers the sizes,
// reserves memory and prepares a kernel; sizes and kernel are cached by input shapes (ShapeCache).
// It owns the calls, their caches and the scratch memory that they share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/expected.h"
#include "plan/binding.h"
#include "runtime/aligned_bytes.h"
#include "runtime/dynamic_tensors.h"
#include "runtime/kernel_calls.h"
#include "runtime/progress.h"
#include "runtime/run_memory.h"
#include "runtime/shape_cache.h"
#include "runtime/values.h"
#include "tensor/call.h"

namespace scanloom::runtime {

/// The largest size in bytes that a growing value reached, in the previous run and in this one.
class Growth {
 public:
  void note(std::uint64_t run, std::int64_t bytes) {
    if (run_ != run) before_ = std::exchange(now_, 0);
    run_ = run;
    now_ = std::max(now_, bytes);
  }
  /// Returns a capacity that is likely to suffice for a value that has outgrown its memory and now
  /// needs `bytes`; at most 16 times that.
  [[nodiscard]] std::int64_t wish(std::int64_t bytes) const {
    return before_ >= bytes ? std::min(before_, 16 * bytes) : 2 * bytes;
  }

 private:
  std::int64_t before_ = 0, now_ = 0;
  std::uint64_t run_ = 0;
};

/// Not thread safe.
class DynamicCalls {
 public:
  DynamicCalls(Values& values, RunMemory& memory, DynamicTensors& tensors, KernelCalls& kernels,
               RunProgress& progress);
  DynamicCalls(const DynamicCalls&) = delete;
  DynamicCalls& operator=(const DynamicCalls&) = delete;

  /// Runs dynamic call `index`. Errors: those of inference and of the kernel, limit_reached,
  /// out_of_memory; they name the node.
  Expected<void> run(std::uint32_t index);
  /// Resets the recorded growth, so that this run does not depend on earlier ones.
  void forget_growth();
  /// Frees the scratch memory. Must not be called while a kernel is being prepared.
  void release_scratch();

 private:
  /// One dynamic call.
  struct State {
    tensor::HotCall hot;
    ShapeCache cache;
    plan::DecidingValues deciding = 0;  ///< those found so far
    Growth growth;                      ///< of a concat that grows in place
  };

  [[nodiscard]] const plan::DynamicCall& bound(std::uint32_t index) const {
    return values_.binding.dynamic_calls[index];
  }
  [[nodiscard]] bool can_grow_in_place(std::uint32_t index);
  Expected<void> grow_in_place(std::uint32_t index);
  /// Gives the result of a growing concat `bytes` of memory and moves its present elements there.
  Expected<void> extend(std::uint32_t index, const tensor::Shape& dims, std::int64_t bytes);
  /// Returns the cached entry for the present inputs; infers the sizes if there is none.
  Expected<CachedCall*> find_cached(std::uint32_t index);
  /// Reserves memory for results of these sizes.
  Expected<void> place_results(std::uint32_t index, std::span<const tensor::Shape> sizes);
  /// Selects the kernel, or the reference, for the present operands.
  void choose_kernel(std::uint32_t index, CachedCall& cached);
  /// Returns false if the memory budget has no room.
  bool reserve_scratch(std::int64_t bytes);

  Values& values_;
  RunMemory& memory_;
  DynamicTensors& tensors_;
  KernelCalls& kernels_;
  RunProgress& progress_;
  std::vector<State> calls_;
  plan::CallKey key_;  // of the present call; kept for its memory
  AlignedBytes scratch_;
  std::byte* scratch_slot_ = nullptr;  // the calls point here
  std::int64_t scratch_bytes_ = 0;
};

}  // namespace scanloom::runtime
