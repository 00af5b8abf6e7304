// Steps that do not depend on each other, side by side: every thread takes its share of them with a
// State of its own, which begins as a copy of the one that has come to the loop. That one took the
// first step, which tells whether the others are long enough, unless binding could tell it, and
// puts together what the threads have made. Where a step fails, nothing of it is kept and the steps
// are taken in order instead, so that the first error is found, whatever the number of threads.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "base/memory_budget.h"
#include "base/thread_pool.h"
#include "runtime/state.h"

namespace scanloom::runtime {

using tensor::BoxRef;

namespace {

/// What the other steps must take at least, by the first one, for threads to be woken.
constexpr double kLeastSeconds = 100e-6;
/// As much as all steps must take, by the estimate of binding, to begin side by side at once.
constexpr double kLeastEstimate = 1e-3;
/// At which memory is copied, roughly.
constexpr double kBytesPerSecond = 4e9;
/// Bytes of arenas that threads may have, in all: a Run keeps them, and copies its own to each,
/// which neither a deadline nor a cancellation can end.
constexpr std::int64_t kMostCopied = 64 << 20;
/// Shares per thread: steps need not be equally long, and progress is told by shares.
constexpr std::int64_t kSharesPerThread = 16;

std::int64_t plus_steps(std::int64_t value, std::int64_t steps, std::int64_t increment) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) +
                                   static_cast<std::uint64_t>(steps) *
                                       static_cast<std::uint64_t>(increment));
}

}  // namespace

/// The shares of one loop and what became of them.
class Run::State::Shares {
 public:
  Shares(State& main, std::uint32_t index, int threads, const Watch& watch)
      : main_(main),
        index_(index),
        threads_(threads),
        caller_(std::this_thread::get_id()),
        first_(main.loops[index].step),
        steps_(main.loops[index].trip - first_),
        watch_(watch),
        limits_(watch.limits()) {
    results_.resize(static_cast<std::size_t>(std::min(steps_, threads * kSharesPerThread)));
    for (int i = 0; i < threads; ++i)
      idle_.push_back(main.workers[static_cast<std::size_t>(i)].get());
    limits_.cancelled = [this] {
      ask();
      return stop_.load(std::memory_order_relaxed);
    };
    // The caller's function is called in its own thread only.
    if (limits_.progress)
      limits_.progress = [this](std::uint32_t loop, std::int64_t, std::int64_t steps) {
        if (std::this_thread::get_id() == caller_)
          watch_.limits().progress(loop, first_ + done_, steps);
      };
  }

  /// The results in the order of steps; nullopt where a step has failed. Error: cancelled. Throws
  /// what a step throws.
  using Results = std::optional<std::vector<StepResults>>;
  Expected<Results> take_all() {
    const auto count = static_cast<std::int64_t>(results_.size());
    // All before the first step: rows may be written to the memory that is copied.
    parallel_for(threads_, threads_, [this](std::int64_t i) {
      attempt([&] { main_.begin_worker(*main_.workers[static_cast<std::size_t>(i)], index_); });
    });
    parallel_for(count, threads_, [this](std::int64_t share) {
      if (!stop_.load(std::memory_order_relaxed)) attempt([&] { take(share); });
    });
    for (int i = 0; i < threads_; ++i) main_.workers[static_cast<std::size_t>(i)]->end_worker();
    if (thrown_) std::rethrow_exception(thrown_);
    if (cancelled_ && error_) return *std::move(error_);
    return stop_ ? Results() : Results(std::move(results_));
  }

  /// How many threads took steps at the same time, at most.
  [[nodiscard]] int threads_used() const { return threads_used_; }

 private:
  /// What is thrown must not leave the thread.
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

  /// The caller's function knows nothing of threads; one that is being asked need not be asked.
  void ask() {
    if (!watch_.limits().cancelled) return;
    const std::unique_lock lock(asking_, std::try_to_lock);
    if (lock.owns_lock() && watch_.limits().cancelled()) stop_ = cancelled_ = true;
  }

  void take(std::int64_t share) {
    const Lease worker(*this);
    const auto shares = static_cast<std::int64_t>(results_.size());
    const std::int64_t first = first_ + steps_ * share / shares;
    const std::int64_t last = first_ + steps_ * (share + 1) / shares;
    Watch watch(limits_, watch_.start());
    Expected<StepResults> made = worker.state->take_steps(main_, first, last, watch);
    const std::scoped_lock lock(mutex_);
    done_ += last - first;
    if (made) {
      results_[static_cast<std::size_t>(share)] = *std::move(made);
    } else {
      stop_ = true;
      if (made.error().code() == Code::cancelled) error_ = std::move(made).error();
    }
  }

  /// One of the workers, of which there are as many as threads, for as long as it lives.
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
    State* state;
  };

  State& main_;
  const std::uint32_t index_;
  const int threads_;
  const std::thread::id caller_;
  const std::int64_t first_, steps_;
  const Watch& watch_;
  Limits limits_;
  std::atomic<bool> stop_ = false, cancelled_ = false;
  std::atomic<std::int64_t> done_ = 0;
  std::mutex asking_;
  std::mutex mutex_;  // of what follows
  std::vector<State*> idle_;
  std::vector<StepResults> results_;
  std::optional<Error> error_;  // of one that was told to stop
  std::exception_ptr thrown_;
  int threads_used_ = 0;
};

int Run::State::worthwhile_threads(std::uint32_t index, double step_seconds) const {
  if (profiled != nullptr || max_threads < 2 || outermost != index || only_loop != kNoLoop)
    return 1;
  const std::int64_t left = loops[index].trip - loops[index].step;
  if (loops[index].room < loops[index].trip) return 1;  // rows would have to move
  const auto threads =
      static_cast<int>(std::min<std::int64_t>({left, max_threads, pool_threads()}));
  if (threads * binding->arena_bytes > kMostCopied) return 1;
  const double copying = threads * static_cast<double>(binding->arena_bytes) / kBytesPerSecond;
  const double likely = step_seconds * static_cast<double>(left);
  const bool pays = likely > kLeastSeconds + 2 * copying;
  return pays || binding->plan->options.always_side_by_side ? threads : 1;
}

bool Run::State::make_workers(std::size_t count) {
  if (workers.size() >= count) return true;
  workers.clear();
  workers_memory.reset();
  const std::int64_t bytes = binding->arena_bytes + binding->scratch_bytes;
  const auto all = static_cast<std::int64_t>(count) * bytes;
  if (!fits(all)) return false;
  for (std::size_t i = 0; i < count; ++i) {
    auto worker = std::make_unique<State>();
    worker->arena = allocate_aligned(bytes);
    if (!worker->arena) return workers.clear(), false;
    worker->binding = binding;
    worker->materialise(1);
    workers.push_back(std::move(worker));
  }
  workers_memory = std::make_unique<Storage>(nullptr, all, budget);
  return true;
}

/// Makes the worker see all that this State sees; for several workers at once.
void Run::State::begin_worker(State& worker, std::uint32_t index) {
  const auto bytes = binding->arena_bytes + binding->scratch_bytes;
  std::memcpy(worker.arena.get(), arena.get(), static_cast<std::size_t>(binding->arena_bytes));
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const bool in_arena = std::less_equal<>()(arena.get(), slots[i]) &&
                          std::less_equal<>()(slots[i], arena.get() + bytes);
    worker.slots[i] = in_arena ? worker.arena.get() + (slots[i] - arena.get()) : slots[i];
  }
  // Each may box its share of what is left, and counts the shares of the others as taken. What one
  // needs beyond that makes the loop go on in order.
  const auto others = static_cast<std::int64_t>(workers.size()) - 1;
  MemoryBudget likely = total;
  likely.measure(bytes_elsewhere() + account.held(), /*recent=*/true);
  const std::int64_t left = budget_left() + likely.bytes() - total.bytes();
  const std::int64_t share = std::max<std::int64_t>(0, left / (2 * others + 2));
  worker.elsewhere = budget.used + others * share;
  worker.budget.limit = worker.budget.used + share + account.held();
  worker.total = MemoryBudget(total.bytes());  // it asks the system for no more
  worker.raised = raised + likely.bytes() - total.bytes();
  worker.account = account;
  worker.account.set_make_room([&worker] {
    worker.drop_kept();
    return worker.counted_elsewhere();
  });
  worker.boxed = boxed;
  worker.objects = objects;
  worker.runs = runs;
  worker.outermost = worker.only_loop = index;
  LoopState& state = worker.loops[index];
  state.shown = loops[index].shown;
  state.room = loops[index].room;
  state.before = stepped(index);
  state.body_allowed = loops[index].body_allowed;
  if (!state.body_decided) {
    state.body = loops[index].body;
    state.body_decided = loops[index].body_decided;
  }
  for (std::size_t i = 0; i < sections.size(); ++i)
    if (worker.sections[i].code.run == nullptr && sections[i].code.run != nullptr)
      worker.set_section(i, sections[i]);
}

/// Steps [first, last), as a worker of `main`.
Expected<StepResults> Run::State::take_steps(const State& main, std::int64_t first,
                                             std::int64_t last, Watch& watch) {
  const plan::BoundLoop& loop = binding->loops[only_loop];
  LoopState& state = loops[only_loop];
  for (LoopState& each : loops) each.pace.start(watch.start());
  steps = 0;
  state.step = first;
  state.trip = last;
  state.limited = false;
  for (std::size_t i = 0; i < loop.carried.size(); ++i) {
    const plan::BoundCarried& port = loop.carried[i];
    const plan::CarriedRole& role = loop.parallel->carried[i];
    if (role.kind == plan::CarriedRole::Kind::appended) {
      object(port.argument) = BoxRef::sequence(port.argument.dtype);
      SCANLOOM_CHECK_OK(account.count(*object(port.argument)));
      continue;
    }
    std::int64_t value = 0;
    const auto& spot = port.argument;
    std::memcpy(&value, main.slots[static_cast<std::size_t>(spot.slot)] + spot.offset,
                sizeof value);
    value = plus_steps(value, first - main.loops[only_loop].step, role.increment);
    std::memcpy(address(spot), &value, sizeof value);
  }
  SCANLOOM_CHECK_OK(begin_slices(loop, first));
  for (const plan::BoundStacked& port : loop.stacked)
    if (!port.apart)
      slot(port.row.slot) = main.slots[static_cast<std::size_t>(port.result.slot)] +
                            port.result.offset + port.first_bytes + first * port.step_bytes;
  SCANLOOM_CHECK_OK(execute(watch.limits(), watch, nullptr));
  StepResults results{.rows = std::move(state.rows), .steps = steps};
  state.rows.assign(loop.stacked.size(), {});
  for (const plan::BoundCarried& port : loop.carried)
    results.appended.push_back(port.argument.is_object() ? std::move(object(port.argument))
                                                         : BoxRef());
  return results;
}

/// Keeps nothing but its arena, which the main State counts.
void Run::State::end_worker() {
  drop_objects();
  drop_scratch();
  account = tensor::MemoryAccount(0);
  for (BoxedValue& value : boxed) value.storage.reset();
}

Expected<void> Run::State::adopt(std::uint32_t index, std::vector<StepResults> results) {
  const plan::BoundLoop& loop = binding->loops[index];
  LoopState& state = loops[index];
  account.set_elsewhere(counted_elsewhere());
  for (std::size_t i = 0; i < loop.carried.size(); ++i) {
    const plan::Spot& spot = loop.carried[i].argument;
    const plan::CarriedRole& role = loop.parallel->carried[i];
    if (role.kind == plan::CarriedRole::Kind::counter) {
      std::int64_t value = 0;
      std::memcpy(&value, address(spot), sizeof value);
      value = plus_steps(value, state.trip - state.step, role.increment);
      std::memcpy(address(spot), &value, sizeof value);
      continue;
    }
    BoxRef& sequence = object(spot);
    sequence.make_unique();
    for (const StepResults& share : results)
      for (const BoxRef& item : share.appended[i]->items()) sequence->push_back(item);
    Expected<void> counted = account.count(*sequence);
    if (!counted) return std::move(counted).error().at(describe(loop.node));
  }
  for (StepResults& share : results) {
    for (std::size_t i = 0; i < loop.stacked.size(); ++i)
      std::ranges::move(share.rows[i], std::back_inserter(state.rows[i]));
    steps += share.steps;
  }
  note_taken();
  state.step = state.trip;
  return {};
}

Expected<bool> Run::State::begin_side_by_side(std::uint32_t index, const Watch& watch) {
  const plan::BoundLoop& loop = binding->loops[index];
  // Counters and sequences are handed to threads as the first step leaves them.
  if (!loop.parallel || !loop.carried.empty()) return false;
  const double estimated = loop.parallel->nanoseconds * 1e-9;
  const bool pays = estimated * static_cast<double>(loops[index].trip) >= kLeastEstimate;
  if (!pays && !binding->plan->options.always_side_by_side) return false;
  SCANLOOM_TRY(const bool taken, take_side_by_side(index, estimated, watch));
  if (taken) SCANLOOM_CHECK_OK(check_limit(index));
  return taken;
}

Expected<bool> Run::State::take_side_by_side(std::uint32_t index, double step_seconds,
                                             const Watch& watch) {
  const int threads = worthwhile_threads(index, step_seconds);
  if (threads < 2 || !make_workers(static_cast<std::size_t>(threads))) return false;
  Shares shares(*this, index, threads, watch);
  SCANLOOM_TRY(auto results, shares.take_all());
  if (!results) return false;
  ++times[index].shared;
  times[index].threads = std::max(times[index].threads, shares.threads_used());
  SCANLOOM_CHECK_OK(adopt(index, *std::move(results)));
  return true;
}

}  // namespace scanloom::runtime
