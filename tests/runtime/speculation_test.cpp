// Speculated steps give the states and rows of steps in order, whatever the guesses are worth.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/thread_pool.h"
#include "plan/speculation.h"
#include "runtime/speculation.h"

namespace scanloom::runtime {
namespace {

using plan::SpeculationMode;
using plan::SpeculationRecord;
using ::testing::HasSubstr;

/// state = next(state, step); a row of the state after each step.
using Next = double (*)(double, std::int64_t);

double contract(double state, std::int64_t step) {
  return 0.5 * state + static_cast<double>(step % 11);
}
double sum(double state, std::int64_t step) { return state + static_cast<double>(step % 11); }
/// Agrees at once, in a state that equals no number.
double not_a_number(double state, std::int64_t step) {
  return step % 7 == 0 ? std::numeric_limits<double>::quiet_NaN() : state + 1;
}
/// Negative zero equals zero, but is another state.
double signed_zero(double state, std::int64_t) { return -state; }
double denormal(double state, std::int64_t step) {
  return 0.9 * state + (step == 0 ? std::numeric_limits<double>::denorm_min() * 1000 : 0);
}

/// A number of few bits that looks random.
int symbol(std::int64_t step) {
  return static_cast<int>((static_cast<std::uint64_t>(step) * 0x9E3779B97F4A7C15) >> 60);
}
/// Between 3 and 4: never the right one again from the other.
double toggle(double state, std::int64_t step) { return symbol(step) < 3 ? 7 - state : state; }
double count_to_five(double state, std::int64_t step) {
  return std::fmod(state + (symbol(step) < 5 ? 1 : 0), 5);
}
/// Rows of text with quotes, where 2 is after a quote inside of quotes: it ends them, or is
/// doubled.
double quotes(double state, std::int64_t step) {
  const bool is_quote = symbol(step) < 3;
  if (state == 3 || state == 0) return is_quote ? 1 : 0;
  if (state == 1) return is_quote ? 2 : 1;
  return is_quote ? 1 : 0;
}
/// Which event has come last; from any state after one.
double last_event(double state, std::int64_t step) {
  return step % 1000 == 999 ? symbol(step) : state;
}

struct Loop {
  Next next = contract;
  std::vector<double> rows;
  std::int64_t faulty_step = -1;
  std::atomic<std::int64_t> taken = 0;
};

class FakeSteps final : public StepTaker {
 public:
  explicit FakeSteps(Loop& loop) : loop_(loop) {}

  void begin(std::int64_t, std::span<const std::byte> state) override {
    std::memcpy(&state_, state.data(), sizeof state_);
  }
  bool take(std::int64_t first, std::int64_t last) override {
    for (std::int64_t step = first; step < last; ++step) {
      if (step == loop_.faulty_step) return false;
      loop_.rows[static_cast<std::size_t>(step)] = state_ = loop_.next(state_, step);
      ++loop_.taken;
      ++taken_;
    }
    return true;
  }
  void save(std::span<std::byte> state) const override {
    std::memcpy(state.data(), &state_, sizeof state_);
  }
  double state_ = 3;
  std::int64_t taken_ = 0;

 private:
  Loop& loop_;
};

class SpeculationTest : public ::testing::Test {
 protected:
  Expected<bool> run(Next next, std::int64_t steps, SpeculationMode mode, int threads = 2) {
    loop.next = next;
    loop.rows.assign(static_cast<std::size_t>(steps), 0);
    loop.taken = 0;
    FakeSteps main(loop);
    PollInterval interval;
    interval.start(Clock::now());
    SpeculationPlan plan = plan_speculation(speculation, record, mode, steps, threads);
    if (max_bytes) plan.sizes.max_bytes = *max_bytes;
    speculates = plan.speculates();
    Speculation all({.speculation = speculation,
                     .record = record,
                     .main = main,
                     .make_taker = [this] { return std::make_unique<FakeSteps>(loop); },
                     .poll =
                         [&](std::int64_t step) {
                           interval.polled(Clock::now());
                           return poll(step);
                         },
                     .interval = interval},
                    plan, 0, steps);
    auto result = all.run();
    last = main.state_;
    taken_in_order = main.taken_;
    return result;
  }

  /// Compares with steps in order, bit for bit.
  void expect_in_order(const char* where) {
    double state = 3;
    for (std::size_t i = 0; i < loop.rows.size(); ++i) {
      state = loop.next(state, static_cast<std::int64_t>(i));
      ASSERT_EQ(std::bit_cast<std::uint64_t>(loop.rows[i]), std::bit_cast<std::uint64_t>(state))
          << where << ", step " << i;
    }
    EXPECT_EQ(std::bit_cast<std::uint64_t>(last), std::bit_cast<std::uint64_t>(state)) << where;
  }

  Loop loop;
  plan::Speculation speculation{.states = {{.bytes = 8}}, .state_bytes = 8, .nanoseconds = 100};
  SpeculationRecord record;
  std::function<Expected<void>(std::int64_t)> poll = [](std::int64_t) { return Expected<void>(); };
  double last = 0;
  std::optional<std::int64_t> max_bytes;  // of checkpoints
  std::int64_t taken_in_order = 0;        // by the main thread, from a state that it trusts
  bool speculates = false;
};

TEST_F(SpeculationTest, GivesTheBitsOfStepsInOrder) {
  for (const Next next : {contract, sum, not_a_number, signed_zero, denormal, toggle, count_to_five,
                          quotes, last_event})
    for (const std::int64_t steps : {1, 2, 3, 5, 64, 1000, 5000})
      for (const int threads : {1, 2, 7}) {
        ASSERT_TRUE(run(next, steps, SpeculationMode::always, threads).value_or_throw());
        expect_in_order("forced");
      }
}

TEST_F(SpeculationTest, TakesLongLoopsAhead) {
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(run(contract, 200'000, SpeculationMode::automatic).value_or_throw());
    expect_in_order("automatic");
    if (i == 0) {
      EXPECT_EQ(speculates, pool_threads() > 1);
    }
  }
}

TEST_F(SpeculationTest, LearnsAfterHowManyStepsStatesAgree) {
  ASSERT_TRUE(run(contract, 5000, SpeculationMode::always).value_or_throw());
  // How many chunks there are, and whether one is too short to agree, depends on which thread is
  // the first to end.
  EXPECT_GE(record.facts().agreed, 1);
  EXPECT_GE(record.facts().needed, 40);  // a bit per step, and 53 of them
  EXPECT_LE(record.facts().needed, 80);
}

TEST_F(SpeculationTest, LinksChunksOnceItKnowsHowManyStepsThatTakes) {
  constexpr std::int64_t kSteps = 5000;
  ASSERT_TRUE(run(contract, kSteps, SpeculationMode::always, /*threads=*/1).value_or_throw());
  const std::int64_t needed = record.facts().needed, first = kSteps / 3;
  EXPECT_GT(taken_in_order, first + needed);
  EXPECT_LE(taken_in_order, first + 2 * needed);
  while (record.facts().agreed < 8)
    ASSERT_TRUE(run(contract, kSteps, SpeculationMode::always, /*threads=*/1).value_or_throw());
  for (int i = 4; i < 7; ++i) {
    ASSERT_TRUE(run(contract, kSteps, SpeculationMode::always, /*threads=*/1).value_or_throw());
    expect_in_order("linked");
    // Steps of the second chunk are taken again in order, those of the third by the second's
    // thread.
    EXPECT_LE(taken_in_order, first + needed);
    EXPECT_LE(loop.taken, kSteps + 2 * needed);
    EXPECT_EQ(record.facts().agreed, 2 * (i + 1));
    EXPECT_NEAR(static_cast<double>(record.facts().needed), static_cast<double>(needed), 5);
  }
  for (int i = 0; i < 3; ++i) {  // from the states of sums, which are wrong
    ASSERT_TRUE(run(sum, kSteps, SpeculationMode::always, /*threads=*/1).value_or_throw());
    expect_in_order("linked from wrong states");
  }
}

TEST_F(SpeculationTest, TakesChunksAgainInPartsWhereAStateIsAlwaysTheOtherOne) {
  for (const Next next : {toggle, count_to_five, quotes}) {
    record.keep_pairs({});
    const std::int64_t redone = record.facts().redone;
    std::int64_t in_order = 0, all = 0;
    for (std::int64_t steps = 6000; steps < 6012; ++steps) {  // guesses are right now and then
      ASSERT_TRUE(run(next, steps, SpeculationMode::always, /*threads=*/1).value_or_throw());
      expect_in_order("in parts");
      in_order += taken_in_order;
      all += loop.taken;
    }
    EXPECT_EQ(record.facts().failed, 0);
    EXPECT_GE(record.facts().redone - redone, 6);
    // At most a third of the steps, and a third of two chunks that were wrong.
    EXPECT_LE(in_order, 12 * 6000 * 6 / 9);
    EXPECT_LE(all, 12 * 6000 * 19 / 10);
    EXPECT_FALSE(record.pairs().is_empty());
  }
}

TEST_F(SpeculationTest, GoesOnAfterChunksThatAreTooShortForParts) {
  for (std::int64_t steps = 24; steps < 60; ++steps) {
    ASSERT_TRUE(run(toggle, steps, SpeculationMode::always, /*threads=*/1).value_or_throw());
    expect_in_order("short chunks");
  }
  for (std::int64_t steps = 6000; steps < 6012; ++steps)
    ASSERT_TRUE(run(toggle, steps, SpeculationMode::always, /*threads=*/1).value_or_throw());
  EXPECT_GT(record.facts().redone, 0);
  EXPECT_EQ(record.facts().failed_since, 0);
}

TEST_F(SpeculationTest, ForgetsPairsOfManyStates) {
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(run(sum, 3000, SpeculationMode::always).value_or_throw());
    EXPECT_TRUE(record.pairs().is_full());
  }
  EXPECT_EQ(record.facts().redone, 0);
}

TEST_F(SpeculationTest, LeavesALoopAloneThatNeverAgrees) {
  for (int i = 0; i < SpeculationRecord::kMaxFailures; ++i) {
    EXPECT_TRUE(record.may_pay(1000));
    ASSERT_TRUE(run(sum, 3000, SpeculationMode::always).value_or_throw());
    expect_in_order("a sum");
  }
  EXPECT_EQ(record.facts().agreed, 0);
  EXPECT_EQ(record.facts().failed, SpeculationRecord::kMaxFailures);
  EXPECT_FALSE(record.may_pay(1000));
  EXPECT_TRUE(record.may_pay(100'000));
}

TEST_F(SpeculationTest, SkipsRunsAfterThoseThatGainNothing) {
  record.note_gain(1.9);
  EXPECT_FALSE(record.skips_run());
  record.note_gain(0.9);  // other programs have the cores
  EXPECT_TRUE(record.skips_run());
  EXPECT_FALSE(record.skips_run());
  record.note_gain(1);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(record.skips_run());
  EXPECT_FALSE(record.skips_run());
  record.note_gain(1.9);
  EXPECT_FALSE(record.skips_run());
}

TEST_F(SpeculationTest, GuessesCountersExactly) {
  speculation.states[0].increment = 5;
  const Next count = [](double state, std::int64_t) {
    return std::bit_cast<double>(std::bit_cast<std::int64_t>(state) + 5);
  };
  ASSERT_TRUE(run(count, 900, SpeculationMode::always).value_or_throw());
  expect_in_order("a counter");
  EXPECT_EQ(record.facts().agreed, 2);
  EXPECT_EQ(record.facts().needed, 0);
  EXPECT_EQ(loop.taken, 900);  // none twice
}

TEST_F(SpeculationTest, StopsWhenAPollFails) {
  for (const Next next : {contract, sum})
    for (const SpeculationMode mode : {SpeculationMode::always, SpeculationMode::automatic}) {
      poll = [](std::int64_t) -> Expected<void> { return fail(Code::cancelled, "stop"); };
      const auto result = run(next, 1'000'000, mode);
      ASSERT_FALSE(result);
      EXPECT_EQ(result.error().code(), Code::cancelled);
      EXPECT_LT(loop.taken, 1'000'000);
    }
}

TEST_F(SpeculationTest, RethrowsAnExceptionOfAPoll) {
  poll = [](std::int64_t) -> Expected<void> { throw std::runtime_error("of the caller"); };
  EXPECT_THROW((void)run(contract, 100'000, SpeculationMode::always), std::runtime_error);
}

TEST_F(SpeculationTest, LeavesFaultsToTheStepsInOrder) {
  for (const std::int64_t step : {0, 10, 50, 99}) {
    loop.faulty_step = step;
    EXPECT_FALSE(run(contract, 100, SpeculationMode::always).value_or_throw());
    for (std::int64_t i = 0; i < step; ++i)
      ASSERT_EQ(std::isnan(loop.rows[static_cast<std::size_t>(i)]), false);
  }
}

// All threads end at the same time, although the others have to wake, and steps are taken again.
TEST_F(SpeculationTest, LearnsToCutChunksThatEndTogether) {
  constexpr std::int64_t kSteps = 1'000'000, kAgain = 17'500;
  for (const std::int64_t wakes : {9'000, -7'000, 0})
    for (const int threads : {2, 3}) {
      std::int64_t late = 0, first = 0;
      for (int runs = 0; runs < 60; ++runs) {
        const ChunkSizes sizes{.parts = threads, .tail = kAgain, .lead = record.facts().lead};
        SpeculativeChunks chunks(0, kSteps, 8, sizes,
                                 [](std::int64_t) { return SpeculatedState(8); });
        first = chunks.last_of(*chunks.front());
        chunks.commit_front();
        const std::int64_t second = chunks.last_of(*chunks.front()) - first;
        // The second of three threads takes steps of the third's chunk again.
        const std::int64_t others = wakes + second + (threads > 2 ? kAgain : 0);
        late = others - (first + kAgain);
        record.note_lead(late, first);
      }
      EXPECT_LE(std::abs(late), 16) << wakes << ", " << threads << " threads";
      EXPECT_NEAR(static_cast<double>(first),
                  static_cast<double>(kSteps + (threads - 1) * (kAgain + wakes)) / threads - kAgain,
                  20);
    }
}

TEST_F(SpeculationTest, LearnsNothingFromThreadsThatOtherProgramsDelay) {
  record.note_lead(1000, 100'000);
  EXPECT_EQ(record.facts().lead, 250);
  for (const std::int64_t late : {-20'000, 20'000}) record.note_lead(late, 100'000);
  EXPECT_EQ(record.facts().lead, 250);
  for (int runs = 0; runs < 100; ++runs) record.note_lead(-6'000, 100'000);
  EXPECT_EQ(record.facts().lead, -100'000 / 32);
  // Learned in long chunks, used in short ones.
  SpeculativeChunks chunks(0, 2000, 8, {.parts = 2, .lead = record.facts().lead},
                           [](std::int64_t) { return SpeculatedState(8); });
  EXPECT_EQ(chunks.last_of(*chunks.front()), (2000 - 1000 / 8) / 2);
}

TEST_F(SpeculationTest, TakesStepsInOrderWhereCheckpointsHaveNoRoom) {
  for (const std::int64_t states : {0, 3, 10, 100}) {
    max_bytes = states * 16;
    for (const Next next : {contract, sum, toggle}) {
      ASSERT_TRUE(run(next, 5000, SpeculationMode::always).value_or_throw());
      expect_in_order("few checkpoints");
    }
  }
}

TEST_F(SpeculationTest, CountsTheBytesOfAllThreads) {
  speculation.state_bytes = 1000;
  SpeculationPlan plan = plan_speculation(speculation, record, SpeculationMode::always, 100'000, 4);
  const std::int64_t bytes = limit_bytes(plan, speculation, 100'000, 0);
  EXPECT_GE(plan.sizes.max_bytes, plan.sizes.parts * (1 + most_checkpoints(25'000, 1)) * 1008);
  EXPECT_GE(bytes, 2 * plan.sizes.max_bytes);
  EXPECT_EQ(limit_bytes(plan, speculation, 100'000, 500) - bytes, 500 * (plan.sizes.parts + 1));
}

TEST_F(SpeculationTest, LeavesShortLoopsAndOneThreadAlone) {
  EXPECT_FALSE(
      plan_speculation(speculation, record, SpeculationMode::automatic, 9'000, 2).speculates());
  EXPECT_FALSE(
      plan_speculation(speculation, record, SpeculationMode::automatic, 1'000'000, 1).speculates());
  EXPECT_FALSE(plan_speculation(speculation, record, SpeculationMode::always, 1, 2).is_forced);
  record.note_agreed(400'000);  // longer than a chunk
  EXPECT_FALSE(
      plan_speculation(speculation, record, SpeculationMode::automatic, 1'000'000, 2).speculates());
}

}  // namespace
}  // namespace scanloom::runtime
