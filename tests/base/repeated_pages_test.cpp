#include "base/repeated_pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/mapped_file.h"

namespace scanloom {
namespace {

constexpr std::size_t kCount = std::size_t{3} << 20;

template <class T>
std::shared_ptr<const void> repeat(const T& element) {
  return repeated_pages(std::as_bytes(std::span(&element, 1)), kCount * sizeof(T));
}

template <class T>
std::size_t count_equal(const std::shared_ptr<const void>& pages, T element) {
  const std::span<const T> elements(static_cast<const T*>(pages.get()), kCount);
  return static_cast<std::size_t>(std::ranges::count(elements, element));
}

TEST(RepeatedPages, HoldTheElementEverywhere) {
  const auto small = repeat(std::uint16_t{0x1234}), also_small = repeat(std::uint16_t{7});
  const auto large = repeat(std::int64_t{-2});
  ASSERT_TRUE(small && also_small && large);
  EXPECT_EQ(count_equal(small, std::uint16_t{0x1234}), kCount);
  EXPECT_EQ(count_equal(also_small, std::uint16_t{7}), kCount);
  EXPECT_EQ(count_equal(large, std::int64_t{-2}), kCount);
}

TEST(RepeatedPages, DistinguishElementsOfEqualLeadingBytes) {
  const auto narrow = repeat(std::uint8_t{0}), wide = repeat(std::uint32_t{0x0100});
  ASSERT_TRUE(narrow && wide);
  EXPECT_EQ(count_equal(narrow, std::uint8_t{0}), kCount);
  EXPECT_EQ(count_equal(wide, std::uint32_t{0x0100}), kCount);
}

TEST(RepeatedPages, AreReadAgainAfterTheyWereGivenBack) {
  const auto pages = repeat(0.5F);
  ASSERT_TRUE(pages);
  EXPECT_EQ(count_equal(pages, 0.5F), kCount);
  release_file_pages(pages.get(), kCount * sizeof(float));
  EXPECT_EQ(count_equal(pages, 0.5F), kCount);
}

TEST(RepeatedPages, OutliveOthersOfTheSameElement) {
  auto first = repeat(0.25F);
  const auto second = repeat(0.25F);
  ASSERT_TRUE(first && second);
  EXPECT_NE(first.get(), second.get());
  first.reset();
  EXPECT_EQ(count_equal(second, 0.25F), kCount);
}

}  // namespace
}  // namespace scanloom
