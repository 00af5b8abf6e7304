#include "base/background.h"

#include <pthread.h>

#include <atomic>
#include <list>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

namespace scanloom {
namespace {

struct Job {
  std::thread thread;
  std::atomic<bool> is_done = false;
};

struct Jobs {
  std::mutex mutex;  // never taken by the threads, which are joined while it is held
  std::list<Job> list;

  void join_all() {
    for (Job& job : list) job.thread.join();
    list.clear();
  }
};

Jobs& jobs() {
  static Jobs* const made = [] {
    pthread_atfork(
        [] {
          jobs().mutex.lock();
          jobs().join_all();
        },
        [] { jobs().mutex.unlock(); }, [] { jobs().mutex.unlock(); });
    static struct Closer {
      ~Closer() {
        const std::scoped_lock lock(jobs().mutex);
        jobs().join_all();
      }
    } closer;
    return new Jobs;
  }();
  return *made;
}

}  // namespace

bool run_in_background(std::function<void()> work) {
  Jobs& all = jobs();
  const std::scoped_lock lock(all.mutex);
  all.list.remove_if([](Job& job) {
    const bool is_done = job.is_done.load(std::memory_order_acquire);
    if (is_done) job.thread.join();
    return is_done;
  });
  std::list<Job> begun;  // holds one job
  try {
    Job& job = begun.emplace_back();
    job.thread = std::thread([&job, work = std::move(work)]() mutable noexcept {
      work();
      work = nullptr;
      job.is_done.store(true, std::memory_order_release);
    });
  } catch (const std::system_error&) {
    return false;
  } catch (const std::bad_alloc&) {
    return false;
  }
  all.list.splice(all.list.end(), begun);
  return true;
}

}  // namespace scanloom
