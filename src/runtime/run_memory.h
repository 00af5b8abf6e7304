// RunMemory: the share of the memory budget that a Run uses. It knows the fixed needs of the
// binding, counts dynamic tensors and scratch (DynamicBudget) and objects (MemoryAccount), and
// measures the free memory of the system where that is the limit. Invariant: the counted bytes
// never exceed the budget.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "base/expected.h"
#include "base/memory_budget.h"
#include "plan/binding.h"
#include "tensor/memory_account.h"

namespace scanloom::runtime {

/// Bytes that the dynamic tensors of a Run hold and may hold.
struct DynamicBudget {
  std::int64_t used = 0;
  std::int64_t limit = 0;
};

/// Memory of a dynamic tensor, shared between tensors until one of them is written again. The
/// budget counts it while it lives.
struct Storage {
  Storage(std::unique_ptr<std::byte[]> memory, std::int64_t size, DynamicBudget& from)
      : bytes(std::move(memory)), capacity(size), budget(from) {
    budget.used += capacity;
  }
  ~Storage() { budget.used -= capacity; }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  std::unique_ptr<std::byte[]> bytes;
  std::int64_t capacity;
  DynamicBudget& budget;
  std::uint64_t run = 0;  ///< the last run that wrote here; storage outlives runs
};

/// Checks the bytes that every run of the binding needs, whatever its data. `held` of them are
/// already allocated. Errors: limit_reached, naming the largest value.
Expected<void> check_fixed_bytes(const plan::Binding& binding, MemoryBudget& budget,
                                 std::int64_t held);

/// Not thread safe; begin_worker may be called for several workers of one `main` at once.
class RunMemory {
 public:
  explicit RunMemory(const plan::Binding& binding) : binding_(binding) {}

  /// Begins a run with a budget of `max_memory` bytes (0: the default). `held`: the bytes of the
  /// arena, if the system has already committed them. Errors: see check_fixed_bytes.
  Expected<void> begin_run(std::int64_t max_memory, std::int64_t held);
  /// Begins a worker with a share of the memory that `main` has left. Each of the `workers` counts
  /// the shares of the others as taken, and none raises its budget.
  void begin_worker(const RunMemory& main, std::int64_t workers);
  void end_worker();
  /// Raises this run's peak to at least that of a worker that has ended: the run may have to take
  /// all steps itself next time.
  void note_worker(const RunMemory& worker) {
    data_bytes_ = std::max(data_bytes_, budget_.used + worker.data_bytes_);
  }

  /// Sets the function that frees the memory kept for later runs.
  void set_release(std::function<void()> release) { release_ = std::move(release); }
  void release_kept() { release_(); }

  /// Returns the bytes left for dynamic tensors and objects.
  [[nodiscard]] std::int64_t left() const { return budget_.limit - budget_.used - account_.held(); }
  /// Whether `bytes` more may be taken; calls raise() if there is no room yet.
  bool fits(std::int64_t bytes) {
    if (bytes <= left() || (raise() && bytes <= left())) return true;
    was_short_ = true;
    return false;
  }
  /// Notes that a caller of left() refuses the run.
  void note_short() { was_short_ = true; }
  /// Whether this run was denied memory.
  [[nodiscard]] bool was_short() const { return was_short_ || account_.was_short(); }
  /// Whether `bytes` more may be taken; if necessary, releases memory kept for later runs first.
  bool make_room(std::int64_t bytes);
  /// Measures the free memory of the system; returns whether that raised the budget.
  bool raise();
  /// Updates the peak. Call after dynamic tensors have taken memory; the account of objects notes
  /// its own peak. `copied`: bytes in addition to both.
  void note_taken(std::int64_t copied = 0) {
    data_bytes_ = std::max(data_bytes_, budget_.used + account_.held() + copied);
  }
  /// Returns the peak of this run, see RunResult::data_bytes.
  [[nodiscard]] std::int64_t data_bytes() const {
    return std::max(data_bytes_, account_.peak() - fixed_bytes());
  }

  /// Returns the budget that counts storage; it outlives the storage.
  [[nodiscard]] DynamicBudget& budget() { return budget_; }
  /// Returns the account of objects.
  [[nodiscard]] tensor::MemoryAccount& account() { return account_; }
  /// Returns the account after setting the bytes that the run holds elsewhere. Use it, not
  /// account(), to check or count.
  tensor::MemoryAccount& update_account();

 private:
  /// Returns the bytes that every run of the binding needs.
  [[nodiscard]] std::int64_t fixed_bytes() const;
  /// Returns the bytes that the run holds apart from its objects.
  [[nodiscard]] std::int64_t bytes_elsewhere() const;

  const plan::Binding& binding_;
  MemoryBudget total_;            // of the present run
  std::int64_t data_bytes_ = 0;   // see RunResult
  std::int64_t other_bytes_ = 0;  // of a worker: dynamic tensors of the others
  bool was_short_ = false;
  DynamicBudget budget_;
  tensor::MemoryAccount account_{0};  // a new one for each run
  std::function<void()> release_;
};

}  // namespace scanloom::runtime
