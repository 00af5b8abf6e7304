// Waiting for machine code, and how a wait ends.
#include "plan/code_cache.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace scanloom::plan {
namespace {

using namespace std::chrono_literals;
using Cache = CodeCache<std::string, int>;

/// Makes 7 once `may_end` is set, and counts how often it began.
struct Slow {
  std::shared_ptr<std::atomic<bool>> may_end = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<std::atomic<int>> begun = std::make_shared<std::atomic<int>>(0);

  Expected<int> operator()() const {
    ++*begun;
    while (!*may_end) std::this_thread::sleep_for(1ms);
    return 7;
  }
};

Expected<void> stop_at_once() { return fail(Code::cancelled, "stop"); }
Expected<void> go_on() { return {}; }

TEST(CodeCache, MakesEachCodeOnce) {
  for (const MayGoOn& may_go_on : {MayGoOn(), MayGoOn(go_on)}) {
    Cache cache;
    int made = 0;
    const auto make = [&]() -> Expected<int> { return ++made; };
    EXPECT_FALSE(cache.find("a"));
    EXPECT_EQ(*cache.get("a", may_go_on, make), 1);
    EXPECT_EQ(*cache.get("b", may_go_on, make), 2);
    EXPECT_EQ(*cache.get("a", may_go_on, make), 1);
    EXPECT_EQ(**cache.find("b"), 2);
  }
}

TEST(CodeCache, NothingIsBegunWhereItMayNotGoOn) {
  Cache cache;
  const Slow slow;
  EXPECT_EQ(cache.get("a", stop_at_once, slow).error().code(), Code::cancelled);
  EXPECT_EQ(*slow.begun, 0);
  EXPECT_FALSE(cache.find("a"));
}

TEST(CodeCache, WhoStopsWaitingFindsTheCodeLater) {
  Cache cache;
  const Slow slow;
  int asked = 0;
  const auto twice = [&]() -> Expected<void> { return ++asked < 3 ? go_on() : stop_at_once(); };
  EXPECT_EQ(cache.get("a", twice, slow).error().code(), Code::cancelled);
  EXPECT_FALSE(cache.find("a"));
  *slow.may_end = true;
  EXPECT_EQ(*cache.get("a", go_on, slow), 7);
  EXPECT_EQ(*slow.begun, 1);
}

TEST(CodeCache, MayBeGoneBeforeTheCodeIsMade) {
  const Slow slow;
  {
    Cache cache;
    int asked = 0;
    const auto once = [&]() -> Expected<void> { return ++asked < 2 ? go_on() : stop_at_once(); };
    EXPECT_FALSE(cache.get("a", once, slow));
  }
  *slow.may_end = true;
}

TEST(CodeCache, AnErrorIsKeptAsCodeIs) {
  Cache cache;
  const auto none = []() -> Expected<int> { return fail(Code::unsupported, "no"); };
  EXPECT_EQ(cache.get("a", go_on, none).error().code(), Code::unsupported);
  EXPECT_EQ((*cache.find("a")).error().code(), Code::unsupported);
}

// A child process has none of the parent's threads: its requests must compile anew, and its locks
// must be free.
TEST(CodeCache, WorksInAChild) {
  Cache cache;
  const Slow slow;
  int asked = 0;
  const auto once = [&]() -> Expected<void> { return ++asked < 2 ? go_on() : stop_at_once(); };
  EXPECT_FALSE(cache.get("a", once, slow));
  *slow.may_end = true;
  std::fflush(nullptr);  // or the child prints it again
  const pid_t child = fork();
  if (child == 0) {
    const bool fine = *cache.get("a", go_on, slow) == 7 &&
                      *cache.get("b", go_on, []() -> Expected<int> { return 8; }) == 8;
    std::exit(fine ? 0 : 1);  // waits for threads
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace scanloom::plan
