#include "base/own_pages.h"

#include <sys/mman.h>

#include "base/large_pages.h"

namespace scanloom {

std::shared_ptr<const void> own_pages(std::size_t bytes) {
  void* const data =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  prefer_quick_pages(data, bytes);
  return std::shared_ptr<const void>(
      data, [bytes](const void* pages) { munmap(const_cast<void*>(pages), bytes); });
}

}  // namespace scanloom
