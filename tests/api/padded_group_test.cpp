// How sequences are cut into padded batches: the memory of a run and its padding are bounded.
#include "api/padded_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scanloom {
namespace {

using ::testing::ElementsAre;

constexpr std::int64_t kMebi = std::int64_t{1} << 20;

std::vector<std::size_t> sizes_of_groups(const std::vector<std::int64_t>& steps,
                                         std::int64_t bytes_of_step, std::int64_t lanes) {
  std::vector<ManyPart> parts;
  for (const std::int64_t end : steps) parts.push_back({nullptr, 0, end});
  std::vector<const ManyPart*> pointers;
  for (const ManyPart& part : parts) pointers.push_back(&part);
  ManyProgram program;
  program.bytes_of_step = bytes_of_step;
  std::vector<std::size_t> sizes;
  for (const PaddedParts group : padded_groups(pointers, program, lanes))
    sizes.push_back(group.size());
  return sizes;
}

TEST(PaddedGroups, AreAsLargeAsRunsThatFitIntoTheMemory) {
  // 18 sequences would fit, but their run would have 32 lanes.
  const std::vector<std::int64_t> steps(40, 7);
  EXPECT_THAT(sizes_of_groups(steps, kMebi, 64), ElementsAre(16, 16, 8));
  EXPECT_THAT(sizes_of_groups(steps, kMebi, 18), ElementsAre(18, 18, 4));
  EXPECT_THAT(sizes_of_groups(std::vector<std::int64_t>(17, 7), kMebi, 64), ElementsAre(16, 1));
  EXPECT_THAT(sizes_of_groups(std::vector<std::int64_t>(3, 200), kMebi, 64), ElementsAre(1, 1, 1));
}

TEST(PaddedGroups, CountTheStepsThatTheirRunTakes) {
  // 33 steps become 34: 4 * 33 * 31/32 MiB would fit, but not 4 * 34 * 31/32 MiB.
  EXPECT_THAT(sizes_of_groups(std::vector<std::int64_t>(4, 33), kMebi * 31 / 32, 64),
              ElementsAre(2, 2));
  EXPECT_THAT(sizes_of_groups(std::vector<std::int64_t>(4, 32), kMebi, 64), ElementsAre(4));
}

TEST(PaddedGroups, EndWhereSequencesAreMuchShorter) {
  EXPECT_THAT(sizes_of_groups({100, 99, 98, 97, 20, 20}, 4, 64), ElementsAre(4, 2));
  EXPECT_THAT(sizes_of_groups({16, 8, 4, 1}, 4, 64), ElementsAre(4));
  EXPECT_THAT(sizes_of_groups({16, 8, 4, 1}, 4, 3), ElementsAre(3, 1));
}

TEST(WidthsOfLanes, AreRoundedDownToThoseThatAreRoundedUpTo) {
  for (const std::int64_t most : {1, 3, 16, 20, 64})
    for (std::int64_t lanes = 1; lanes <= 70; ++lanes) {
      const std::int64_t width = rounded_down_width(lanes, most);
      EXPECT_LE(width, lanes);
      EXPECT_EQ(rounded_width(width, most), width);
      if (width < most) {
        EXPECT_GT(rounded_width(width + 1, most), std::min(lanes, most));
      }
    }
}

}  // namespace
}  // namespace scanloom
