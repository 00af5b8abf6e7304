// Where a chunk is cut whose guess was wrong, and with which states its parts begin.
#include "runtime/paired_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace scanloom::runtime {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::byte> bytes(std::vector<int> values) {
  std::vector<std::byte> made;
  for (const int value : values) made.push_back(static_cast<std::byte>(value));
  return made;
}

/// A flag, between a counter and a number; each has a byte.
class PairedParts : public ::testing::Test {
 protected:
  PairedParts() {
    pairs.begin(bytes({0}), bytes({1}));
    for (int i = 0; i < 8; ++i) pairs.note(bytes({i % 2}), bytes({1 - i % 2}));
    // Checkpoints every 10 steps, of which every fifth has a state without a pair.
    for (int step = 10; step <= 100; step += 10) {
      steps.push_back(step);
      for (const int value : {step, step % 50 == 0 ? 7 : step / 10 % 2, 9})
        states.push_back(static_cast<std::byte>(value));
    }
  }

  std::vector<RedonePart> cut(std::int64_t step, std::int64_t parts) const {
    return cut_by_pairs(pairs, paired, {steps, states}, step, 100, parts);
  }

  plan::Speculation loop{
      .states = {{.bytes = 1, .increment = 1}, {.bytes = 1, .is_discrete = true}, {.bytes = 1}},
      .state_bytes = 3};
  PairedStates paired{loop};
  plan::StatePairs pairs;
  std::vector<std::int64_t> steps;
  std::vector<std::byte> states;
};

TEST_F(PairedParts, BeginWithTheRightFlagAndTheirOwnCounter) {
  const auto parts = cut(10, 3);
  ASSERT_THAT(parts, SizeIs(2));
  EXPECT_EQ(parts[0].first, 40);
  EXPECT_EQ(parts[0].guess, bytes({40, 1, 9}));
  EXPECT_EQ(parts[1].first, 70);
  EXPECT_EQ(parts[1].guess, bytes({70, 0, 9}));
}

TEST_F(PairedParts, BeginAtTheNearestStateThatHasAPair) {
  const auto parts = cut(0, 2);  // in the middle, there is none
  ASSERT_THAT(parts, SizeIs(1));
  EXPECT_EQ(parts[0].first, 40);
  EXPECT_EQ(parts[0].guess, bytes({40, 1, 9}));
}

TEST_F(PairedParts, AreNotCutWhereNoStateHasAPair) {
  EXPECT_THAT(cut(0, 1), IsEmpty());
  EXPECT_THAT(cut(0, 0), IsEmpty());
  EXPECT_THAT(cut(0, 40), IsEmpty());  // there are only ten checkpoints
  pairs = {};
  EXPECT_THAT(cut(10, 3), IsEmpty());
  steps.clear();
  states.clear();
  EXPECT_THAT(cut(10, 3), IsEmpty());
}

}  // namespace
}  // namespace scanloom::runtime
