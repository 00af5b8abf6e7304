// Large pages for large memory: a page fault for every 2 MB that are written instead of every 4 kB,
// and no waits for the addresses of pages.
#pragma once

#include <cstddef>

namespace scanloom {

/// Asks the system for large pages in [memory, memory + bytes), where it has them for who asks; of
/// less than 4 MB it does not, as numpy does not. To be called before the memory is written.
void prefer_large_pages(void* memory, std::size_t bytes);

}  // namespace scanloom
