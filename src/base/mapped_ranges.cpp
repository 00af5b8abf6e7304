#include "base/mapped_ranges.h"

#include <sys/mman.h>

namespace scanloom {

MappedRanges& MappedRanges::all() {
  // Never destroyed: global objects of the program may own mapped files.
  static MappedRanges* const ranges = new MappedRanges;
  return *ranges;
}

void MappedRanges::add(const void* data, std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  ranges_[static_cast<const std::byte*>(data)] = bytes;
}

void MappedRanges::remove(const void* data) {
  const std::scoped_lock lock(mutex_);
  ranges_.erase(static_cast<const std::byte*>(data));
}

// Holds the lock meanwhile: the range must not be unmapped.
void MappedRanges::release(const std::byte* first, const std::byte* last) {
  const std::scoped_lock lock(mutex_);
  auto after = ranges_.upper_bound(first);
  if (after == ranges_.begin()) return;
  const auto& [data, bytes] = *--after;
  if (last > data + bytes) return;
  (void)::madvise(const_cast<std::byte*>(first), static_cast<std::size_t>(last - first),
                  MADV_DONTNEED);
}

}  // namespace scanloom
