// AlignedBytes: memory for arenas and scratch, 64-byte aligned and in large pages where possible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace scanloom::runtime {

struct AlignedDelete {
  void operator()(std::byte* data) const;
};
using AlignedBytes = std::unique_ptr<std::byte[], AlignedDelete>;

/// Returns uninitialized memory; null if the allocation fails.
AlignedBytes allocate_aligned(std::int64_t bytes);

}  // namespace scanloom::runtime
