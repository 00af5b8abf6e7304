#include "base/cache.h"

#include <unistd.h>

#include <algorithm>

namespace scanloom {

std::int64_t l2_cache_bytes() {
  static const std::int64_t bytes = [] {
    constexpr std::int64_t kMin = 256 * 1024, kUsual = 512 * 1024, kMax = 4096 * 1024;
    const std::int64_t reported = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return reported <= 0 ? kUsual : std::clamp(reported, kMin, kMax);
  }();
  return bytes;
}

}  // namespace scanloom
