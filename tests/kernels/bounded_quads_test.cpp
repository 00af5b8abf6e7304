#include "kernels/bounded_quads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace scanloom::kernels {
namespace {

constexpr std::int64_t kPanels = 3, kQuads = 16, kPanelBytes = kQuads * kQuad * kQuadColumns;
using Panels = std::vector<std::int8_t>;

std::size_t offset_of(std::int64_t panel, std::int64_t row, std::int64_t column) {
  return static_cast<std::size_t>(panel * kPanelBytes + row / kQuad * kQuadColumns * kQuad +
                                  column * kQuad + row % kQuad);
}

Panels small_elements() {
  Panels panels(static_cast<std::size_t>(kPanels * kPanelBytes));
  std::mt19937 random(1);
  for (std::int8_t& each : panels) each = static_cast<std::int8_t>(random() % 65 - 32);
  return panels;
}

/// Whether all sums of two products with unsigned bytes, and of two such sums, fit in 16 bits.
bool fits(const Panels& panels) {
  for (std::int64_t panel = 0; panel < kPanels; ++panel)
    for (std::int64_t row = 0; row < kQuads * kQuad; row += 2 * kQuad)
      for (std::int64_t at = 0; at < 2 * kQuadColumns; ++at) {
        int positive = 0, negative = 0;
        for (const std::int64_t i : {row, row + 1, row + kQuad, row + kQuad + 1}) {
          const int element = panels[offset_of(panel, i + at % 2 * 2, at / 2)];
          (element < 0 ? negative : positive) += 255 * element;
        }
        if (positive > 32767 || negative < -32768) return false;
      }
  return true;
}

/// Adds the excesses again.
void restore(const QuadExcesses& excesses, Panels& panels) {
  for (std::int64_t panel = 0; panel < kPanels; ++panel)
    for (const QuadExcess& each : excesses.of_panels(panel, 1)) {
      EXPECT_EQ(each.column / kQuadColumns, panel);
      std::int8_t& element = panels[offset_of(panel, each.row, each.column % kQuadColumns)];
      element = static_cast<std::int8_t>(element + each.value);
    }
}

TEST(BoundedQuads, SmallElementsStay) {
  const Panels given = small_elements();
  Panels panels = given;
  const auto excesses = bound_quads(kPanels, kQuads, panels.data());
  ASSERT_TRUE(excesses);
  EXPECT_TRUE(excesses->all.empty());
  EXPECT_EQ(panels, given);
  EXPECT_TRUE(fits(panels));
}

TEST(BoundedQuads, GreatElementsAreReduced) {
  Panels given = small_elements();
  // Four of 127, four of -128, both together, and one of each in another panel.
  for (const std::int64_t row : {8, 9, 12, 13}) given[offset_of(0, row, 0)] = 127;
  for (const std::int64_t row : {2, 3, 6, 7}) given[offset_of(0, row, 15)] = -128;
  for (const std::int64_t row : {2, 6}) given[offset_of(0, row, 7)] = -128;
  for (const std::int64_t row : {3, 7}) given[offset_of(0, row, 7)] = 127;
  given[offset_of(2, 63, 3)] = 127;
  given[offset_of(2, 62, 3)] = 100;
  given[offset_of(2, 59, 3)] = -128;
  Panels panels = given;
  const auto excesses = bound_quads(kPanels, kQuads, panels.data());
  ASSERT_TRUE(excesses);
  EXPECT_TRUE(excesses->of_panels(1, 1).empty());
  EXPECT_FALSE(excesses->of_panels(2, 1).empty());
  EXPECT_TRUE(fits(panels));
  EXPECT_EQ(excesses->of_panels(0, 3).size(), excesses->all.size());
  EXPECT_NE(panels, given);
  restore(*excesses, panels);
  EXPECT_EQ(panels, given);
}

TEST(BoundedQuads, TooManyExcessesAreRefused) {
  for (const std::int8_t value : {std::int8_t{127}, std::int8_t{-128}}) {
    const Panels given(static_cast<std::size_t>(kPanels * kPanelBytes), value);
    Panels panels = given;
    EXPECT_FALSE(bound_quads(kPanels, kQuads, panels.data()));
    EXPECT_EQ(panels, given);
  }
}

TEST(BoundedQuads, NothingIsBounded) {
  const auto excesses = bound_quads(0, 0, nullptr);
  ASSERT_TRUE(excesses);
  EXPECT_TRUE(excesses->all.empty());
}

}  // namespace
}  // namespace scanloom::kernels
