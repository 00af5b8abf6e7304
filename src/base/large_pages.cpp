#include "base/large_pages.h"

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#include <ctime>
#endif

#include <cstdint>

namespace scanloom {

#if defined(__linux__) && defined(MADV_HUGEPAGE)
namespace {

constexpr std::size_t kMinBytes = std::size_t{4} << 20;
constexpr std::size_t kLargePage = std::size_t{2} << 20;

std::size_t to_multiple_of(std::size_t page, const void* memory) {
  return (page - reinterpret_cast<std::uintptr_t>(memory) % page) % page;
}

std::int64_t nanoseconds_of_thread() {
  timespec now{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0) return 0;
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// Writes to the page at `at`; whether the system took longer for it than for as many small pages.
bool is_slow_to_get(std::byte* at) {
  // A page takes 0.1 to 0.3 ms to clear, and 512 small ones 0.3 to 0.9 ms.
  constexpr std::int64_t kSlow = 1'000'000;
  const std::int64_t before = nanoseconds_of_thread();
  *static_cast<volatile std::byte*>(at) = std::byte{0};
  return nanoseconds_of_thread() - before > kSlow;
}

struct Pages {
  std::byte* first = nullptr;
  std::size_t bytes = 0;
};

/// Asks for large pages; returns the whole pages for which the system agreed.
Pages ask_for_large_pages(void* memory, std::size_t bytes) {
  if (memory == nullptr || bytes < kMinBytes) return {};
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  // Only whole pages can be advised. A system without large pages refuses, which is fine.
  const std::size_t before = to_multiple_of(page, memory);
  const std::size_t whole = (bytes - before) / page * page;
  auto* const first = static_cast<std::byte*>(memory) + before;
  return madvise(first, whole, MADV_HUGEPAGE) == 0 ? Pages{first, whole} : Pages{};
}

}  // namespace

void prefer_large_pages(void* memory, std::size_t bytes) {
  static_cast<void>(ask_for_large_pages(memory, bytes));
}

void prefer_quick_pages(void* memory, std::size_t bytes) {
  // One page in so many is written ahead, in case not all of the memory will be.
  constexpr std::size_t kPagesPerSample = 8;
  const Pages pages = ask_for_large_pages(memory, bytes);
  for (std::size_t at = to_multiple_of(kLargePage, pages.first); at + kLargePage <= pages.bytes;
       at += kPagesPerSample * kLargePage) {
    if (!is_slow_to_get(pages.first + at)) continue;
    const std::size_t left = at + kLargePage;
    if (left < pages.bytes) (void)madvise(pages.first + left, pages.bytes - left, MADV_NOHUGEPAGE);
    return;
  }
}

#else

void prefer_large_pages(void*, std::size_t) {}
void prefer_quick_pages(void*, std::size_t) {}

#endif

}  // namespace scanloom
