#include "base/repeated_pages.h"

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/mapped_ranges.h"
#endif

namespace scanloom {

#if defined(__linux__)
namespace {

// Bytes that are stored. A process may have 65530 mappings by default: 128 GB of these.
constexpr std::size_t kStoredBytes = std::size_t{2} << 20;

/// A file in memory that holds the element, repeated.
class StoredElements {
 public:
  static std::shared_ptr<const StoredElements> make(std::span<const std::byte> element) {
    const int file = ::memfd_create("scanloom", MFD_CLOEXEC);
    if (file < 0) return nullptr;
    auto stored = std::make_shared<const StoredElements>(file);
    if (::ftruncate(file, kStoredBytes) != 0) return nullptr;
    void* const memory = ::mmap(nullptr, kStoredBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) return nullptr;
    auto* const bytes = static_cast<std::byte*>(memory);
    for (std::size_t at = 0; at < kStoredBytes; at += element.size())
      std::memcpy(bytes + at, element.data(), element.size());
    ::munmap(memory, kStoredBytes);
    return stored;
  }
  explicit StoredElements(int file) : file_(file) {}
  ~StoredElements() { ::close(file_); }
  StoredElements(const StoredElements&) = delete;
  StoredElements& operator=(const StoredElements&) = delete;

  /// Maps the file over all of the memory.
  [[nodiscard]] bool map_over(std::byte* memory, std::size_t bytes) const {
    for (std::size_t at = 0; at < bytes; at += kStoredBytes)
      if (::mmap(memory + at, std::min(kStoredBytes, bytes - at), PROT_READ,
                 MAP_PRIVATE | MAP_FIXED, file_, 0) == MAP_FAILED)
        return false;
    return true;
  }

 private:
  int file_;
};

/// The stored elements that are in use: weights of several layers often repeat the same one.
std::shared_ptr<const StoredElements> stored_elements(std::span<const std::byte> element) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<const StoredElements>> in_use;
  const std::scoped_lock lock(mutex);
  std::erase_if(in_use, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<const StoredElements>& entry =
      in_use[{reinterpret_cast<const char*>(element.data()), element.size()}];
  auto stored = entry.lock();
  if (stored == nullptr) entry = stored = StoredElements::make(element);
  return stored;
}

}  // namespace

std::shared_ptr<const void> repeated_pages(std::span<const std::byte> element, std::size_t bytes) {
  auto stored = stored_elements(element);
  if (stored == nullptr) return nullptr;
  void* const memory = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  if (!stored->map_over(static_cast<std::byte*>(memory), bytes)) {
    ::munmap(memory, bytes);
    return nullptr;
  }
  MappedRanges::all().add(memory, bytes);
  return std::shared_ptr<const void>(memory,
                                     [bytes, stored = std::move(stored)](const void* pages) {
                                       MappedRanges::all().remove(pages);
                                       ::munmap(const_cast<void*>(pages), bytes);
                                     });
}

#else

std::shared_ptr<const void> repeated_pages(std::span<const std::byte>, std::size_t) {
  return nullptr;
}

#endif

}  // namespace scanloom
