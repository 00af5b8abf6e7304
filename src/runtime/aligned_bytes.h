// AlignedBytes: memory of arenas and of scratch, 64-byte aligned and in large pages if possible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace scanloom::runtime {

struct AlignedDelete {
  void operator()(std::byte* data) const;
};
using AlignedBytes = std::unique_ptr<std::byte[], AlignedDelete>;

/// Returns memory that is not zeroed; null when there is none.
AlignedBytes allocate_aligned(std::int64_t bytes);

}  // namespace scanloom::runtime
