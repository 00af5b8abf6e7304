#include "base/large_pages.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <memory>

namespace scanloom {
namespace {

TEST(LargePages, AreAskedForWhateverTheMemoryBeginsAndEndsWith) {
  constexpr std::size_t kBytes = std::size_t{9} << 20;
  const std::unique_ptr<std::byte[]> memory(new std::byte[kBytes]);
  for (const std::size_t first : {0, 1, 16, 4095, 4096, 4097})
    for (const std::size_t bytes : {kBytes - first, kBytes - first - 1, (kBytes - first) / 2}) {
      prefer_large_pages(memory.get() + first, bytes);
      prefer_quick_pages(memory.get() + first, bytes);
      memory[first] = memory[first + bytes - 1] = std::byte{7};
      EXPECT_EQ(memory[first + bytes - 1], std::byte{7});
    }
}

TEST(LargePages, AreNotAskedForOfLittleMemoryOrNone) {
  std::byte few[64];
  errno = 0;
  prefer_large_pages(few, sizeof few);
  prefer_quick_pages(few, sizeof few);
  prefer_quick_pages(nullptr, std::size_t{1} << 30);
  prefer_large_pages(nullptr, std::size_t{1} << 30);
  EXPECT_EQ(errno, 0);
}

}  // namespace
}  // namespace scanloom
