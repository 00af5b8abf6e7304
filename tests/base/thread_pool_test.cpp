#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cfenv>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "base/cpu.h"

namespace scanloom {
namespace {

constexpr int kAll = 1 << 20;

bool each_chunk_runs_once(std::int64_t chunks, int max_threads) {
  std::vector<int> runs(static_cast<std::size_t>(chunks), 0);  // plain: TSan sees a chunk run twice
  parallel_for(chunks, max_threads, [&](std::int64_t chunk) { ++runs[std::size_t(chunk)]; });
  for (const int count : runs)
    if (count != 1) return false;
  return true;
}

std::set<std::thread::id> threads_of(std::int64_t chunks, int max_threads) {
  std::mutex mutex;
  std::set<std::thread::id> ids;
  parallel_for(chunks, max_threads, [&](std::int64_t) {
    const std::scoped_lock lock(mutex);
    ids.insert(std::this_thread::get_id());
  });
  return ids;
}

TEST(ThreadPool, EachChunkRunsOnce) {
  for (const std::int64_t chunks : {0, 1, 2, 3, 7, 64, 1000})
    for (const int max_threads : {1, 2, 3, kAll})
      EXPECT_TRUE(each_chunk_runs_once(chunks, max_threads)) << chunks << " on " << max_threads;
}

TEST(ThreadPool, NoThreadsAllowedMeansTheCallerAlone) {
  for (const int max_threads : {-1, 0, 1})
    EXPECT_EQ(threads_of(50, max_threads), std::set{std::this_thread::get_id()});
}

TEST(ThreadPool, KeepsToItsSize) {
  EXPECT_GE(pool_threads(), 1);
  EXPECT_LE(threads_of(500, kAll).size(), static_cast<std::size_t>(pool_threads()));
  EXPECT_LE(threads_of(500, 2).size(), 2u);
}

/// Whether the caller attends while others work: they end only once it has. It may also wait for a
/// thread, and attend, that has been woken too late to find work.
bool is_attended(int max_threads) {
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<bool> attended{false}, in_others{false};
  std::atomic<int> runs{0};
  parallel_for_attended(
      64, max_threads,
      [&](std::int64_t) {
        ++runs;
        if (std::this_thread::get_id() == caller) return;
        in_others = true;
        while (!attended) std::this_thread::yield();
      },
      [&] { attended = std::this_thread::get_id() == caller; });
  return runs == 64 && (!in_others || attended);
}

TEST(ThreadPool, TheCallerAttendsWhileItWaits) {
  for (const int max_threads : {1, 2, kAll}) EXPECT_TRUE(is_attended(max_threads)) << max_threads;
}

void end_while_a_job_runs() {
  std::atomic<bool> runs{false};
  std::thread([&] {
    parallel_for(4, kAll, [&](std::int64_t) {
      runs = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    });
  }).detach();
  while (!runs) std::this_thread::yield();
  std::exit(7);
}

TEST(ThreadPool, TheProcessMayEndWhileAJobRuns) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(end_while_a_job_runs(), testing::ExitedWithCode(7), "");
}

TEST(ThreadPool, NestedCallsRunInline) {
  std::atomic<int> strays{0};
  std::atomic<int> inner_runs{0};
  parallel_for(8, kAll, [&](std::int64_t) {
    const std::thread::id outer = std::this_thread::get_id();
    parallel_for(16, kAll, [&](std::int64_t) {
      strays += std::this_thread::get_id() != outer;
      ++inner_runs;
    });
  });
  EXPECT_EQ(strays, 0);
  EXPECT_EQ(inner_runs, 8 * 16);
}

TEST(ThreadPool, ManyShortJobs) {
  std::int64_t wrong = 0;
  for (int job = 0; job < 5000; ++job) {
    std::int64_t squares[4] = {};
    parallel_for(4, kAll, [&](std::int64_t chunk) { squares[chunk] = chunk * chunk + job; });
    for (std::int64_t chunk = 0; chunk < 4; ++chunk) wrong += squares[chunk] != chunk * chunk + job;
  }
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadPool, CallersAtTheSameTime) {
  std::atomic<int> failures{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      for (int job = 0; job < 300; ++job) failures += !each_chunk_runs_once(37, kAll);
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(failures, 0);
}

// Threads are born with the environment of who starts them, so a process of its own starts the pool
// while it rounds upward. The chunks meet, so that both threads take one.
[[noreturn]] void exit_with_rounding_of_workers() {
  setenv("SCANLOOM_THREADS", "2", 1);
  std::fesetround(FE_UPWARD);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> met{0};
  float third = 0;
  parallel_for(2, 2, [&](std::int64_t) {
    ++met;
    while (met < 2) std::this_thread::yield();
    volatile float one = -1;  // -1/3 rounded upward is the lesser neighbour
    if (std::this_thread::get_id() != caller) third = one / 3.0f;
  });
  std::exit(third == -0x1.555556p-2f ? 0 : 1);
}

TEST(ThreadPool, WorkersRoundToNearest) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(exit_with_rounding_of_workers(), testing::ExitedWithCode(0), "");
}

// The number of threads is read once, so it is tried in a process of its own.
class ThreadsVariable : public testing::Test {
 protected:
  void SetUp() override { testing::GTEST_FLAG(death_test_style) = "threadsafe"; }

  [[noreturn]] static void exit_with_size(const char* value, int wanted) {
    setenv("SCANLOOM_THREADS", value, 1);
    bool good = pool_threads() == wanted;
    for (int job = 0; job < 200; ++job) good = good && each_chunk_runs_once(61, kAll);
    good = good && threads_of(500, 3).size() <= 3;
    std::exit(good ? 0 : 1);
  }

  [[noreturn]] static void exit_with_warning(const char* value, int wanted, bool warns) {
    setenv("SCANLOOM_THREADS", value, 1);
    std::exit(pool_threads() == wanted && threads_warning().empty() == !warns ? 0 : 1);
  }

  /// Every chunk waits until as many threads as there are chunks have met.
  [[noreturn]] static void exit_when_all_have_met(const char* value, int threads) {
    setenv("SCANLOOM_THREADS", value, 1);
    std::atomic<int> met{0};
    parallel_for(threads, kAll, [&](std::int64_t) {
      ++met;
      while (met < threads) std::this_thread::yield();
    });
    std::exit(0);
  }
};

TEST_F(ThreadsVariable, MayBeMoreThanTheCores) {
  EXPECT_EXIT(exit_with_size("7", 7), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(exit_with_size("1", 1), testing::ExitedWithCode(0), "");
}

TEST_F(ThreadsVariable, AllThreadsTakePart) {
  EXPECT_EXIT(exit_when_all_have_met("7", 7), testing::ExitedWithCode(0), "");
}

TEST_F(ThreadsVariable, UnknownValuesAreIgnoredAndReported) {
  for (const char* value : {"nonsense", "0", "-3", "7x", " 7", "1.5"})
    EXPECT_EXIT(exit_with_warning(value, available_cores(), true), testing::ExitedWithCode(0), "")
        << value;
  for (const char* value : {"1000", "99999999999999999999"})
    EXPECT_EXIT(exit_with_warning(value, 256, true), testing::ExitedWithCode(0), "") << value;
  EXPECT_EXIT(exit_with_warning("256", 256, false), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(exit_with_warning("", available_cores(), false), testing::ExitedWithCode(0), "");
}

// TSan cannot start threads in the child of a process that has threads.
#if !defined(__SANITIZE_THREAD__)
/// The exit status of a child that runs `body`; -1 when it hangs or ends by a signal.
template <class Body>
int status_of_child(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

bool pool_works() { return each_chunk_runs_once(100, kAll) && each_chunk_runs_once(3, kAll); }

TEST(ThreadPoolFork, TheChildHasAPoolOfItsOwn) {
  ASSERT_TRUE(pool_works());
  EXPECT_EQ(status_of_child(pool_works), 0);
  EXPECT_TRUE(pool_works());
}

TEST(ThreadPoolFork, GrandchildrenToo) {
  ASSERT_TRUE(pool_works());
  EXPECT_EQ(status_of_child([] { return pool_works() && status_of_child(pool_works) == 0; }), 0);
}

TEST(ThreadPoolFork, WhileAnotherThreadUsesThePool) {
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) parallel_for(16, kAll, [](std::int64_t) {});
  });
  for (int round = 0; round < 20; ++round) EXPECT_EQ(status_of_child(pool_works), 0);
  stop = true;
  busy.join();
  EXPECT_TRUE(pool_works());
}

TEST(ThreadPoolFork, FromInsideAJob) {
  std::atomic<int> failures{0};
  parallel_for(4, kAll, [&](std::int64_t) { failures += status_of_child(pool_works) != 0; });
  EXPECT_EQ(failures, 0);
}
#endif

}  // namespace
}  // namespace scanloom
