// Growth: how much memory a value that grows from step to step is given.
#include "runtime/dynamic_calls.h"

#include <gtest/gtest.h>

namespace scanloom::runtime {
namespace {

TEST(Growth, TheFirstRunDoubles) {
  Growth growth;
  growth.note(1, 100);
  EXPECT_EQ(growth.wish(100), 200);
}

TEST(Growth, ALaterRunTakesWhatTheOneBeforeNeeded) {
  Growth growth;
  growth.note(1, 100);
  growth.note(1, 1000);
  growth.note(1, 500);
  growth.note(2, 200);
  EXPECT_EQ(growth.wish(200), 1000);
  EXPECT_EQ(growth.wish(1000), 1000);
  EXPECT_EQ(growth.wish(1001), 2002);
}

TEST(Growth, AtMostSixteenTimesWhatIsNeeded) {
  Growth growth;
  growth.note(1, 1'000'000);
  growth.note(2, 10);
  EXPECT_EQ(growth.wish(10), 160);
}

TEST(Growth, ARunForgetsAllButTheOneBefore) {
  Growth growth;
  growth.note(1, 1000);
  growth.note(2, 100);
  growth.note(3, 10);
  EXPECT_EQ(growth.wish(10), 100);
}

}  // namespace
}  // namespace scanloom::runtime
