// RunMemory: what a Run takes of its memory budget. It knows the fixed needs of the binding, counts
// dynamic tensors and scratch (DynamicBudget) and objects (MemoryAccount), and measures what the
// system has left where that decides. Invariant: what is counted never exceeds the budget.
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

/// Memory of a dynamic tensor, shared between tensors until one of them is written again. It is
/// counted while it lives.
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

/// Checks the bytes that runs of the binding need whatever their data are. `held`: those that are
/// allocated already. Errors: limit_reached, naming the largest value.
Expected<void> check_fixed_bytes(const plan::Binding& binding, MemoryBudget& budget,
                                 std::int64_t held);

/// Not thread safe; begin_worker may be called for several workers of one `main` at once.
class RunMemory {
 public:
  explicit RunMemory(const plan::Binding& binding) : binding_(binding) {}

  /// Begins a run with a budget of `max_memory` bytes (0: the default). `held`: the bytes of the
  /// arena, if the system has given them already. Errors: see check_fixed_bytes.
  Expected<void> begin_run(std::int64_t max_memory, std::int64_t held);
  /// Begins a worker with a share of what `main` has left. Each of the `workers` counts the shares
  /// of the others as taken, and none asks the system for more.
  void begin_worker(const RunMemory& main, std::int64_t workers);
  void end_worker() { account_ = tensor::MemoryAccount(0); }

  /// `release`: frees what earlier runs have left for later ones.
  void set_release(std::function<void()> release) { release_ = std::move(release); }
  void release_kept() { release_(); }

  /// Returns the bytes left for dynamic tensors and objects.
  [[nodiscard]] std::int64_t left() const { return budget_.limit - budget_.used - account_.held(); }
  /// Whether so many more bytes may be taken; measures what the system has left if that decides.
  bool fits(std::int64_t bytes) { return bytes <= left() || (raise() && bytes <= left()); }
  /// The same, after releasing what is only kept if that is needed.
  bool make_room(std::int64_t bytes);
  /// Measures what the system has left; whether there is more now.
  bool raise();
  /// Notes the peak: call after dynamic tensors or objects have taken memory. `copied`: bytes in
  /// addition to these.
  void note_taken(std::int64_t copied = 0) {
    data_bytes_ = std::max(data_bytes_, budget_.used + account_.held() + copied);
  }
  /// Returns the peak of this run, see RunResult::data_bytes.
  [[nodiscard]] std::int64_t data_bytes() const { return data_bytes_; }

  /// Returns the budget that storage counts on, which outlives it.
  [[nodiscard]] DynamicBudget& budget() { return budget_; }
  /// Returns the account of objects.
  [[nodiscard]] tensor::MemoryAccount& account() { return account_; }
  /// The same, told what the run holds elsewhere. Call before checking or counting.
  tensor::MemoryAccount& update_account();

 private:
  /// Returns what the run holds apart from its objects.
  [[nodiscard]] std::int64_t bytes_elsewhere() const;
  /// The same for the account, whose limit remains that of the beginning.
  [[nodiscard]] std::int64_t counted_elsewhere() const { return bytes_elsewhere() - raised_; }

  const plan::Binding& binding_;
  MemoryBudget total_;            // of the present run
  std::int64_t raised_ = 0;       // by how much, since it began
  std::int64_t data_bytes_ = 0;   // see RunResult
  std::int64_t other_bytes_ = 0;  // of a worker: dynamic tensors of the others
  DynamicBudget budget_;
  tensor::MemoryAccount account_{0};  // a new one for each run
  std::function<void()> release_;
};

}  // namespace scanloom::runtime
