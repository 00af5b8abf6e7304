// Large pages for large buffers: one page fault per 2 MB written instead of per 4 kB, and fewer TLB
// misses.
#pragma once

#include <cstddef>

namespace scanloom {

/// Asks the system for large pages in [memory, memory + bytes), if it grants them on request. Does
/// nothing below 4 MB, like numpy. Call it before the memory is written.
void prefer_large_pages(void* memory, std::size_t bytes);

}  // namespace scanloom
