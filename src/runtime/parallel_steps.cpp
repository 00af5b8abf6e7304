#include "runtime/parallel_steps.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/thread_pool.h"
#include "runtime/run_state.h"
#include "runtime/worker.h"

namespace scanloom::runtime {
namespace {

using Workers = std::vector<std::unique_ptr<RunState>>;

/// Threads are woken if the remaining steps, extrapolated from the first, take longer than this.
constexpr double kMinSeconds = 100e-6;
/// All steps run in parallel from the start if binding estimates at least this for them.
constexpr double kMinEstimate = 1e-3;
/// Approximate bandwidth of a memory copy.
constexpr double kBytesPerSecond = 4e9;
/// Limit for the arenas of all workers together. A Run keeps them and copies its own arena to each;
/// neither a deadline nor a cancellation can interrupt the copies.
constexpr std::int64_t kMaxCopied = 64 << 20;
/// Shares per thread. Several, since steps may differ in length and progress is reported per share.
constexpr std::int64_t kSharesPerThread = 16;

/// The shares of one loop and their results.
class Shares {
 public:
  Shares(const RunState& main, Workers& workers, std::uint32_t index, int threads,
         const Watch& watch)
      : main_(main),
        workers_(workers),
        index_(index),
        threads_(threads),
        caller_(std::this_thread::get_id()),
        first_(main.loops[index].step),
        steps_(main.loops[index].trip - first_),
        watch_(watch),
        limits_(watch.limits()) {
    results_.resize(static_cast<std::size_t>(std::min(steps_, threads * kSharesPerThread)));
    for (int i = 0; i < threads; ++i) idle_.push_back(workers[static_cast<std::size_t>(i)].get());
    limits_.cancelled = [this] {
      ask();
      return stop_.load(std::memory_order_relaxed);
    };
    // The caller's function is only called in the caller's thread.
    if (limits_.progress)
      limits_.progress = [this](std::uint32_t loop, std::int64_t, std::int64_t steps) {
        if (std::this_thread::get_id() == caller_)
          watch_.limits().progress(loop, first_ + done_, steps);
      };
  }

  /// Returns the results in the order of steps; nullopt where a step has failed. Error: cancelled.
  /// Throws what a step throws.
  using Results = std::optional<std::vector<StepResults>>;
  Expected<Results> take_all() {
    const auto count = static_cast<std::int64_t>(results_.size());
    // All workers begin before the first step, since steps may write rows to the copied memory.
    parallel_for(threads_, threads_, [this](std::int64_t i) {
      attempt([&] {
        begin_worker(*workers_[static_cast<std::size_t>(i)], main_, index_,
                     static_cast<std::int64_t>(workers_.size()));
      });
    });
    parallel_for_attended(
        count, threads_,
        [this](std::int64_t share) {
          if (!stop_.load(std::memory_order_relaxed)) attempt([&] { take(share); });
        },
        [this] { attempt([&] { attend(); }); });
    for (int i = 0; i < threads_; ++i) end_worker(*workers_[static_cast<std::size_t>(i)]);
    if (thrown_) std::rethrow_exception(thrown_);
    if (cancelled_ && error_) return *std::move(error_);
    return stop_ ? Results() : Results(std::move(results_));
  }

  /// Returns the largest number of threads that took steps at the same time.
  [[nodiscard]] int threads_used() const { return threads_used_; }

 private:
  /// Runs `work` and catches its exceptions, which must not leave the thread.
  template <class Work>
  void attempt(const Work& work) noexcept {
    try {
      work();
    } catch (...) {
      stop_ = true;
      const std::scoped_lock lock(mutex_);
      if (!thrown_) thrown_ = std::current_exception();
    }
  }

  /// Calls the caller's function, unless another thread is doing so: it need not be thread safe.
  void ask() {
    if (!watch_.limits().cancelled) return;
    const std::unique_lock lock(asking_, std::try_to_lock);
    if (lock.owns_lock() && watch_.limits().cancelled()) stop_ = cancelled_ = true;
  }

  /// What the caller does while the other threads take the last shares.
  void attend() {
    watch_.call_on_poll(Clock::now());
    ask();
  }

  void take(std::int64_t share) {
    const Lease worker(*this);
    const auto shares = static_cast<std::int64_t>(results_.size());
    const std::int64_t first = first_ + steps_ * share / shares;
    const std::int64_t last = first_ + steps_ * (share + 1) / shares;
    Watch watch(limits_, watch_.start());
    Expected<StepResults> made = take_steps(*worker.state, main_, first, last, watch);
    const std::scoped_lock lock(mutex_);
    done_ += last - first;
    if (made) {
      results_[static_cast<std::size_t>(share)] = *std::move(made);
    } else {
      stop_ = true;
      if (made.error().code() == Code::cancelled) error_ = std::move(made).error();
    }
  }

  /// Borrows one of the workers; there is one for each thread.
  struct Lease {
    explicit Lease(Shares& from) : shares(from) {
      const std::scoped_lock lock(shares.mutex_);
      state = shares.idle_.back();
      shares.idle_.pop_back();
      const auto busy = shares.threads_ - static_cast<int>(shares.idle_.size());
      shares.threads_used_ = std::max(shares.threads_used_, busy);
    }
    ~Lease() {
      const std::scoped_lock lock(shares.mutex_);
      shares.idle_.push_back(state);
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    Shares& shares;
    RunState* state;
  };

  const RunState& main_;
  Workers& workers_;
  const std::uint32_t index_;
  const int threads_;
  const std::thread::id caller_;
  const std::int64_t first_, steps_;
  const Watch& watch_;
  Limits limits_;
  std::atomic<bool> stop_ = false, cancelled_ = false;
  std::atomic<std::int64_t> done_ = 0;
  std::mutex asking_;
  std::mutex mutex_;  // guards the members below
  std::vector<RunState*> idle_;
  std::vector<StepResults> results_;
  std::optional<Error> error_;  // of a share that was cancelled
  std::exception_ptr thrown_;
  int threads_used_ = 0;
};

}  // namespace

ParallelSteps::ParallelSteps(RunState& main) : main_(main) {}
ParallelSteps::~ParallelSteps() = default;

void ParallelSteps::release_workers() {
  workers_.clear();
  workers_memory_.reset();
}

Expected<bool> ParallelSteps::take_all(std::uint32_t index, const Watch& watch) {
  const plan::BoundLoop& loop = main_.binding->loops[index];
  // Threads receive counters and sequences in their state after the first step.
  if (!loop.parallel || !loop.carried.empty()) return false;
  const double estimated = loop.parallel->nanoseconds * 1e-9;
  const bool pays = estimated * static_cast<double>(main_.loops[index].trip) >= kMinEstimate;
  if (!pays && !main_.binding->plan->options.always_parallel_steps) return false;
  SCANLOOM_TRY(const bool taken, take_rest(index, estimated, watch));
  if (taken) SCANLOOM_CHECK_OK(main_.control.check_limit(index));
  return taken;
}

Expected<bool> ParallelSteps::take_rest(std::uint32_t index, double step_seconds,
                                        const Watch& watch) {
  const int threads = worthwhile_threads(index, step_seconds);
  if (threads < 2 || !make_workers(static_cast<std::size_t>(threads))) return false;
  Shares shares(main_, workers_, index, threads, watch);
  SCANLOOM_TRY(auto results, shares.take_all());
  if (!results) return false;
  main_.progress.note_parallel(index, shares.threads_used());
  for (const auto& worker : workers_) main_.memory.note_worker(worker->memory);
  SCANLOOM_CHECK_OK(adopt(index, *std::move(results)));
  return true;
}

int ParallelSteps::worthwhile_threads(std::uint32_t index, double step_seconds) const {
  const RunProgress& progress = main_.progress;
  const plan::Binding& binding = *main_.binding;
  const int max_threads = main_.kernels.max_threads();
  if (progress.profile() != nullptr || max_threads < 2 || progress.outermost() != index ||
      progress.only_loop() != RunProgress::kNoLoop)
    return 1;
  const LoopState& state = main_.loops[index];
  const std::int64_t left = state.trip - state.step;
  if (state.room < state.trip) return 1;  // rows would have to be moved
  const auto threads =
      static_cast<int>(std::min<std::int64_t>({left, max_threads, pool_threads()}));
  if (threads * binding.arena_bytes > kMaxCopied) return 1;
  const double copying = threads * static_cast<double>(binding.arena_bytes) / kBytesPerSecond;
  const double likely = step_seconds * static_cast<double>(left);
  const bool pays = likely > kMinSeconds + 2 * copying;
  return pays || binding.plan->options.always_parallel_steps ? threads : 1;
}

bool ParallelSteps::make_workers(std::size_t count) {
  if (workers_.size() >= count) return true;
  release_workers();
  const std::int64_t bytes = main_.binding->arena_bytes + main_.binding->scratch_bytes;
  const auto all = static_cast<std::int64_t>(count) * bytes;
  if (!main_.memory.fits(all)) return false;
  for (std::size_t i = 0; i < count; ++i) {
    AlignedBytes arena = allocate_aligned(bytes);
    if (!arena) return workers_.clear(), false;
    workers_.push_back(
        std::make_unique<RunState>(main_.binding, std::move(arena), /*max_threads=*/1));
  }
  workers_memory_ = std::make_unique<Storage>(nullptr, all, main_.memory.budget());
  return true;
}

Expected<void> ParallelSteps::adopt(std::uint32_t index, std::vector<StepResults> results) {
  const plan::BoundLoop& loop = main_.binding->loops[index];
  LoopState& state = main_.loops[index];
  tensor::MemoryAccount& account = main_.memory.update_account();
  for (std::size_t i = 0; i < loop.carried.size(); ++i) {
    const plan::Spot& spot = loop.carried[i].argument;
    const plan::CarriedRole& role = loop.parallel->carried[i];
    if (role.kind == plan::CarriedRole::Kind::counter) {
      std::int64_t value = 0;
      std::memcpy(&value, main_.values.address(spot), sizeof value);
      value = count_up(value, state.trip - state.step, role.increment);
      std::memcpy(main_.values.address(spot), &value, sizeof value);
      continue;
    }
    tensor::ObjectRef& sequence = main_.values.object(spot);
    sequence.make_unique();
    for (const StepResults& share : results)
      for (const tensor::ObjectRef& item : share.appended[i]->items()) sequence->push_back(item);
    Expected<void> counted = account.count(*sequence);
    if (!counted) return std::move(counted).error().at(main_.values.describe(loop.node));
  }
  for (StepResults& share : results) {
    main_.rows.append_kept(index, std::move(share.rows));
    main_.progress.add_steps(share.steps);
  }
  main_.memory.note_taken();
  state.step = state.trip;
  return {};
}

}  // namespace scanloom::runtime
