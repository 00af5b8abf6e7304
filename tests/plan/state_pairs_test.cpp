// Which right state pairs with a wrong one, as far as the states seen tell.
#include "plan/state_pairs.h"

#include <gtest/gtest.h>

#include "plan/speculation.h"

namespace scanloom::plan {
namespace {

StatePairs::State state(int value) { return {static_cast<std::byte>(value)}; }

/// Notes the states of a counter modulo `count` that is `ahead` of the guess.
void note_counter(StatePairs& pairs, int count, int ahead, int notes) {
  pairs.begin(state(0), state(ahead));
  for (int i = 0; i < notes; ++i) pairs.note(state(3 * i % count), state((3 * i + ahead) % count));
}

TEST(StatePairs, FindTheStatesOfACounter) {
  StatePairs pairs;
  EXPECT_TRUE(pairs.is_empty());
  EXPECT_EQ(pairs.find(state(0)), nullptr);
  note_counter(pairs, 5, 2, 10);
  EXPECT_TRUE(pairs.is_reliable());
  for (int i = 0; i < 5; ++i) {
    ASSERT_NE(pairs.find(state(i)), nullptr);
    EXPECT_EQ(*pairs.find(state(i)), state((i + 2) % 5));
  }
}

TEST(StatePairs, AreForgottenIfTheGuessContradictsThem) {
  StatePairs pairs;
  note_counter(pairs, 5, 2, 10);
  pairs.begin(state(0), state(2));
  EXPECT_NE(pairs.find(state(4)), nullptr);
  EXPECT_FALSE(pairs.is_reliable());  // nothing seen yet in this chunk
  pairs.begin(state(0), state(3));
  EXPECT_EQ(pairs.find(state(4)), nullptr);
  EXPECT_EQ(*pairs.find(state(0)), state(3));
}

TEST(StatePairs, AreNotReliableWhereTheyContradictEachOther) {
  StatePairs pairs;
  pairs.begin(state(0), state(1));
  for (int i = 0; i < 20; ++i) pairs.note(state(0), state(i % 2));
  EXPECT_FALSE(pairs.is_reliable());
}

TEST(StatePairs, OutlastAState) {
  StatePairs pairs;
  pairs.begin(state(0), state(1));
  for (int i = 0; i < 20; ++i) pairs.note(state(0), state(i == 10 ? 2 : 1));
  EXPECT_TRUE(pairs.is_reliable());
  EXPECT_EQ(*pairs.find(state(0)), state(1));
}

TEST(StatePairs, AreForFewStates) {
  StatePairs pairs;
  for (int i = 0; i < static_cast<int>(StatePairs::kMaxPairs); ++i)
    pairs.note(state(i), state(i + 1));
  EXPECT_FALSE(pairs.is_full());
  pairs.note(state(100), state(1));
  EXPECT_TRUE(pairs.is_full());
  EXPECT_EQ(pairs.find(state(0)), nullptr);
}

TEST(StatesInPairs, AreTheDiscreteOnesIfThereAreAny) {
  Speculation loop;
  loop.states = {{.bytes = 8}, {.bytes = 8, .increment = 1}, {.bytes = 4}};
  EXPECT_EQ(states_in_pairs(loop), (std::vector<bool>{true, false, true}));
  loop.states[2].is_discrete = loop.states[1].is_discrete = true;
  EXPECT_EQ(states_in_pairs(loop), (std::vector<bool>{false, false, true}));
  loop.states[2].bytes = 65;
  EXPECT_EQ(states_in_pairs(loop), (std::vector<bool>{false, false, false}));
}

}  // namespace
}  // namespace scanloom::plan
