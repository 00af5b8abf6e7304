#include "base/large_pages.h"

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <cstdint>

namespace scanloom {

void prefer_large_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  constexpr std::size_t kMinBytes = std::size_t{4} << 20;
  if (memory == nullptr || bytes < kMinBytes) return;
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  // Only whole pages can be advised. A system without large pages refuses, which is fine.
  const std::size_t before = (page - reinterpret_cast<std::uintptr_t>(memory) % page) % page;
  const std::size_t whole = (bytes - before) / page * page;
  (void)madvise(static_cast<std::byte*>(memory) + before, whole, MADV_HUGEPAGE);
#endif
}

}  // namespace scanloom
