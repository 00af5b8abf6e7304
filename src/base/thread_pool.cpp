#include "base/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/cpu.h"
#include "base/fp_environment.h"

namespace scanloom {
namespace {

/// One call of parallel_for; lives on the caller's stack until every helper has left it.
struct Job {
  FunctionRef<void(std::int64_t)> work;
  std::int64_t chunks;
  std::atomic<std::int64_t> next{0};
  int seats;        ///< helpers that may still join; guarded by the pool's mutex
  int helpers = 0;  ///< helpers at work; guarded by the pool's mutex

  void run() {
    while (true) {
      const std::int64_t chunk = next.fetch_add(1, std::memory_order_relaxed);
      if (chunk >= chunks) return;
      work(chunk);
    }
  }
};

thread_local bool t_inside = false;

class Pool {
 public:
  explicit Pool(int threads) {
    try {
      for (int i = 1; i < threads; ++i) threads_.emplace_back([this] { serve(); });
    } catch (const std::system_error&) {
      // The system gives no more threads; the work is done with those there are.
    }
  }
  ~Pool() {
    {
      const std::scoped_lock lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// False: another job has the pool; the caller works alone.
  bool run(Job& job) {
    {
      const std::scoped_lock lock(mutex_);
      if (job_ != nullptr) return false;
      job_ = &job;
      announced_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    job.run();
    std::unique_lock lock(mutex_);
    job_ = nullptr;
    done_.wait(lock, [&] { return job.helpers == 0; });
    return true;
  }

 private:
  void serve() {
    const FpEnvironment environment;
    t_inside = true;
    std::uint64_t seen = 0;
    while (true) {
      spin(seen);
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stop_ || announced_.load() != seen; });
      if (stop_) return;
      seen = announced_.load();
      Job* const job = job_;
      if (job == nullptr || job->seats == 0) continue;
      --job->seats;
      ++job->helpers;
      lock.unlock();
      job->run();
      lock.lock();
      if (--job->helpers == 0) done_.notify_all();
    }
  }

  /// A short wait for the next job: loops announce one every few microseconds.
  void spin(std::uint64_t seen) const {
    for (int i = 0; i < 2000; ++i) {
      if (announced_.load(std::memory_order_acquire) != seen) return;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::atomic<std::uint64_t> announced_{0};
  Job* job_ = nullptr;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

/// The process's pool. A child process starts over: threads do not survive a fork, so the parent's
/// pool object is left alone there and a new one made.
struct Holder {
  std::mutex mutex;
  std::unique_ptr<Pool> pool;
};

Holder*& holder() {
  static Holder* current = [] {
    pthread_atfork(nullptr, nullptr,
                   [] { holder() = new Holder; });  // the old one is not ours to free
    // Joins the threads when the process ends; a Holder that a fork left behind is never touched.
    static struct Closer {
      ~Closer() { holder()->pool.reset(); }
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

}  // namespace

int pool_threads() {
  static const int threads = [] {
    const char* const text = std::getenv("SCANLOOM_THREADS");
    const int wanted = text == nullptr ? 0 : std::atoi(text);
    return wanted > 0 ? std::min(wanted, 256) : available_cores();
  }();
  return threads;
}

void parallel_for(std::int64_t chunks, int max_threads, FunctionRef<void(std::int64_t)> work) {
  const int threads = static_cast<int>(
      std::min<std::int64_t>({chunks, std::int64_t{max_threads}, std::int64_t{pool_threads()}}));
  Job job{.work = work, .chunks = chunks, .seats = threads - 1};
  if (threads > 1 && !t_inside) {
    t_inside = true;
    const bool done = pool().run(job);
    t_inside = false;
    if (done) return;
  }
  job.run();
}

}  // namespace scanloom
