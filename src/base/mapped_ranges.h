// MappedRanges: the memory whose pages the system can read again whenever they are needed, so that
// they may be given back. Pages of other memory would lose what they hold.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

namespace scanloom {

/// Thread safe.
class MappedRanges {
 public:
  /// Those of this process.
  static MappedRanges& all();

  void add(const void* data, std::size_t bytes);
  /// To be called before the memory is unmapped.
  void remove(const void* data);
  /// Gives the pages back if they are part of a range. Precondition: whole pages.
  void release(const std::byte* first, const std::byte* last);

 private:
  std::mutex mutex_;
  std::map<const std::byte*, std::size_t> ranges_;
};

}  // namespace scanloom
