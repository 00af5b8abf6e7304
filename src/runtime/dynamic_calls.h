// DynamicCalls: calls whose sizes only the run knows. Sizes are inferred, memory is reserved, and a
// kernel is prepared for them; both are kept for when the same input sizes come again (ShapeCache).
// It owns the calls, their caches and the scratch memory that all of them share.
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

/// How many bytes a growing value came to: in the run before, and in this one.
class Growth {
 public:
  void note(std::uint64_t run, std::int64_t bytes) {
    if (run_ != run) before_ = std::exchange(now_, 0);
    run_ = run;
    now_ = std::max(now_, bytes);
  }
  /// Returns what is likely to suffice where memory for `bytes` is short, without taking much more
  /// than there is yet.
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
  /// Forgets how much values grew, so that this run does not depend on earlier ones.
  void forget_growth();
  /// Frees the scratch memory. Not while a kernel is being prepared.
  void release_scratch();

 private:
  /// One dynamic call.
  struct State {
    tensor::HotCall hot;
    ShapeCache cache;
    plan::DecidingValues deciding = 0;  ///< as found so far
    Growth growth;                      ///< of a concat that grows in place
  };

  [[nodiscard]] const plan::DynamicCall& bound(std::uint32_t index) const {
    return values_.binding.dynamic_calls[index];
  }
  [[nodiscard]] bool can_grow_in_place(std::uint32_t index);
  Expected<void> grow_in_place(std::uint32_t index);
  /// Gives the result of a growing concat its memory and the elements that it had; `bytes` in all.
  Expected<void> extend(std::uint32_t index, const tensor::Shape& dims, std::int64_t bytes);
  /// Returns what is known of the call for its inputs as they are; infers sizes if that is nothing.
  Expected<CachedCall*> find_cached(std::uint32_t index);
  /// Reserves memory of those sizes for the results.
  Expected<void> place_results(std::uint32_t index, std::span<const tensor::Shape> sizes);
  /// Makes the call run what suits its operands.
  void choose_kernel(std::uint32_t index, CachedCall& cached);
  /// Returns false where there is no room.
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
