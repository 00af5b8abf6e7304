#include "runtime/aligned_bytes.h"

#include <new>

#include "base/large_pages.h"

namespace scanloom::runtime {
namespace {

constexpr std::align_val_t kAlignment{64};

}  // namespace

void AlignedDelete::operator()(std::byte* data) const { ::operator delete[](data, kAlignment); }

AlignedBytes allocate_aligned(std::int64_t bytes) {
  const std::size_t size = static_cast<std::size_t>((bytes + 127) / 64 * 64);
  void* const memory = ::operator new[](size, kAlignment, std::nothrow);
  prefer_large_pages(memory, size);
  return AlignedBytes(static_cast<std::byte*>(memory));
}

}  // namespace scanloom::runtime
