// PackCache: constants rearranged for a kernel, packed once per plan and shared by its bindings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "base/own_pages.h"

namespace scanloom::kernels {

/// Thread safe. A key holds the constant's address, the kernel, and every number that determines
/// what is packed and how: one constant may be read under several shapes.
class PackCache {
 public:
  using Key = std::tuple<const void*, int, std::vector<std::int64_t>>;

  template <class Make>
  std::shared_ptr<const void> get(const Key& key, Make make) {
    const std::scoped_lock lock(mutex_);
    auto entry = packs_.find(key);
    // make() comes first: if it runs out of memory, the map must not keep an empty entry.
    if (entry == packs_.end()) entry = packs_.emplace(key, make()).first;
    return entry->second;
  }

 private:
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<const void>> packs_;
};

/// Zeroed storage for packed elements, aligned to a cache line: vectors that straddle two lines
/// take twice as long. Large storage is not written to become zero.
template <class T>
std::shared_ptr<T> packed_memory(std::int64_t elements) {
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  const std::size_t bytes = static_cast<std::size_t>(elements) * sizeof(T);
  if (bytes >= kMinOwnPages)
    if (const std::shared_ptr<const void> pages = own_pages(bytes); pages != nullptr)
      return {pages, static_cast<T*>(const_cast<void*>(pages.get()))};
  auto lines = std::make_shared<std::vector<Line>>((bytes + sizeof(Line) - 1) / sizeof(Line));
  return {lines, reinterpret_cast<T*>(lines->data())};
}

}  // namespace scanloom::kernels
