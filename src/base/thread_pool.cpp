#include "base/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/cpu.h"
#include "base/fp_environment.h"
#include "base/spin.h"

namespace scanloom {
namespace {

using Work = FunctionRef<void(std::int64_t)>;

constexpr auto kNothing = [](std::int64_t) {};

thread_local bool t_inside = false;

/// Loops submit a job every few microseconds, and waking a thread takes about as long as this.
constexpr auto kSpinTime = std::chrono::microseconds(50);

/// Waits until the value changes: spins first, then sleeps.
void wait_while(const std::atomic<std::uint32_t>& value, std::uint32_t old) {
  const auto has_changed = [&] { return value.load(std::memory_order_acquire) != old; };
  if (spin_until(has_changed, kSpinTime)) return;
  value.wait(old, std::memory_order_acquire);
}

/// Returns when the value has changed. It sleeps for a tenth of the time that it has waited, so it
/// notices the change late by no more than that.
void wait_attended(const std::atomic<std::uint32_t>& value, std::uint32_t old,
                   FunctionRef<void()> attend) {
  using namespace std::chrono_literals;
  using Clock = std::chrono::steady_clock;
  if (spin_until([&] { return value.load(std::memory_order_acquire) != old; }, kSpinTime)) return;
  const Clock::time_point begin = Clock::now();
  Clock::time_point attended = begin;
  while (value.load(std::memory_order_acquire) == old) {
    const Clock::time_point now = Clock::now();
    if (now - attended > 50ms) {
      attend();
      attended = now;
    }
    std::this_thread::sleep_for(std::clamp<Clock::duration>((now - begin) / 10, 20us, 5ms));
  }
}

/// Runs one call of parallel_for at a time. Each thread begins with the same chunks every time, so
/// that the data they read stays in its cache, then takes chunks that others have left. All state
/// shared between the caller and one helper fits in one cache line.
class Pool {
 public:
  explicit Pool(int threads) : seats_(static_cast<std::size_t>(threads)) {
    try {
      for (int i = 1; i < threads; ++i) threads_.emplace_back([this, i] { serve(i); });
    } catch (const std::system_error&) {
      // The system gives no more threads; the work is done with the existing ones.
    }
  }
  /// Ends the threads, unless a job is running: they then end with the process. No job runs
  /// afterwards.
  void stop() {
    if (busy_.exchange(true)) return;
    for (Seat& seat : seats_) {
      seat.state.store(kStop);
      seat.state.notify_one();
    }
    for (std::thread& thread : threads_) thread.join();
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Returns false if another job has the pool; the caller then works alone.
  bool run(std::int64_t chunks, int threads, Work work, const FunctionRef<void()>* attend) {
    if (busy_.exchange(true, std::memory_order_acquire)) return false;
    for (int i = 0; i < threads; ++i) {
      Seat& seat = seat_of(i);
      seat.work = work;
      seat.threads = threads;
      seat.next.store(chunks * i / threads, std::memory_order_relaxed);
      seat.end = chunks * (i + 1) / threads;
    }
    for (int i = 1; i < threads; ++i) {
      // seq_cst orders this store with the waiter count that notify_one() reads; so does kIdle
      // below.
      seat_of(i).state.store(kOffered, std::memory_order_seq_cst);
      seat_of(i).state.notify_one();
    }
    take_chunks(0);
    for (int i = 1; i < threads; ++i) {
      std::atomic<std::uint32_t>& state = seat_of(i).state;
      // Loads first: a write would take the cache line from a helper at work.
      std::uint32_t offered = state.load(std::memory_order_relaxed);
      if (offered == kOffered &&
          state.compare_exchange_strong(offered, kIdle, std::memory_order_acq_rel))
        continue;
      if (attend != nullptr) wait_attended(state, kTaken, *attend);
      while (state.load(std::memory_order_acquire) != kIdle) wait_while(state, kTaken);
    }
    busy_.store(false, std::memory_order_release);
    return true;
  }

 private:
  static constexpr std::uint32_t kIdle = 0, kOffered = 1, kTaken = 2, kStop = 3;

  /// State of one thread; the caller's is the first.
  struct alignas(64) Seat {
    std::atomic<std::uint32_t> state{kIdle};
    int threads = 0;
    Work work = kNothing;
    std::atomic<std::int64_t> next{0};
    std::int64_t end = 0;
  };

  Seat& seat_of(int index) { return seats_[static_cast<std::size_t>(index)]; }

  void take_chunks(int index) {
    const Work work = seat_of(index).work;
    const int threads = seat_of(index).threads;
    for (int i = 0; i < threads; ++i) {
      Seat& seat = seat_of((index + i) % threads);
      while (seat.next.load(std::memory_order_relaxed) < seat.end) {
        const std::int64_t chunk = seat.next.fetch_add(1, std::memory_order_relaxed);
        if (chunk < seat.end) work(chunk);
      }
    }
  }

  void serve(int index) {
    const FpEnvironment environment;
    t_inside = true;
    std::atomic<std::uint32_t>& state = seat_of(index).state;
    while (true) {
      wait_while(state, kIdle);
      if (state.load(std::memory_order_acquire) == kStop) return;
      // The caller withdraws an offer when no work is left.
      std::uint32_t offered = kOffered;
      if (!state.compare_exchange_strong(offered, kTaken, std::memory_order_acq_rel)) continue;
      take_chunks(index);
      state.store(kIdle, std::memory_order_seq_cst);
      state.notify_one();
    }
  }

  std::atomic<bool> busy_ = false;
  std::vector<Seat> seats_;
  std::vector<std::thread> threads_;
};

/// The process's pool. Threads do not survive a fork, so a child process leaves the parent's pool
/// object alone and makes a new one.
struct Holder {
  std::mutex mutex;
  std::unique_ptr<Pool> pool;
};

Holder*& holder() {
  static Holder* current = [] {
    pthread_atfork(nullptr, nullptr,
                   [] { holder() = new Holder; });  // the old one is not ours to free
    // Ends the threads with the process, but never touches a Holder that a fork left over. The pool
    // itself stays: other threads may be about to use it.
    static struct Closer {
      ~Closer() {
        if (holder()->pool) holder()->pool->stop();
      }
    } closer;
    return new Holder;
  }();
  return current;
}

Pool& pool() {
  Holder& current = *holder();
  const std::scoped_lock lock(current.mutex);
  if (!current.pool) current.pool = std::make_unique<Pool>(pool_threads());
  return *current.pool;
}

/// The value of SCANLOOM_THREADS; count 0: not set.
struct Wanted {
  int count = 0;
  std::string_view warning = {};
};

Wanted read_environment() {
  constexpr int kMax = 256;
  const char* const variable = std::getenv("SCANLOOM_THREADS");
  if (variable == nullptr || *variable == '\0') return {};
  const std::string_view text = variable;
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const bool is_number = end == text.data() + text.size() && text[0] != '-';
  if (is_number && (error == std::errc::result_out_of_range || count > kMax))
    return {kMax, "SCANLOOM_THREADS exceeds 256; 256 is used"};
  if (!is_number || error != std::errc{} || count == 0)
    return {0, "SCANLOOM_THREADS is not a number from 1 to 256; it is ignored"};
  return {count, {}};
}

const Wanted& environment_threads() {
  static const Wanted wanted = read_environment();
  return wanted;
}

/// `attend`: may be null.
void run_parallel(std::int64_t chunks, int max_threads, Work work,
                  const FunctionRef<void()>* attend) {
  const int threads = static_cast<int>(
      std::min<std::int64_t>({chunks, std::int64_t{max_threads}, std::int64_t{pool_threads()}}));
  const auto alone = [&] {
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) work(chunk);
  };
  if (threads <= 1 || t_inside) return alone();
  t_inside = true;
  if (!pool().run(chunks, threads, work, attend)) alone();
  t_inside = false;
}

}  // namespace

int pool_threads() {
  static const int threads =
      environment_threads().count > 0 ? environment_threads().count : available_cores();
  return threads;
}

std::string_view threads_warning() { return environment_threads().warning; }

void parallel_for(std::int64_t chunks, int max_threads, FunctionRef<void(std::int64_t)> work) {
  run_parallel(chunks, max_threads, work, nullptr);
}

void parallel_for_attended(std::int64_t chunks, int max_threads,
                           FunctionRef<void(std::int64_t)> work, FunctionRef<void()> attend) {
  run_parallel(chunks, max_threads, work, &attend);
}

}  // namespace scanloom
