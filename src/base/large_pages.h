// Large pages for large buffers: one page fault per 2 MB written instead of per 4 kB, and fewer TLB
// misses.
//
// A virtual machine may have to ask its host for the memory of every large page, 4 kB at a time,
// while small pages are mostly those that a program before gave back: there, large pages took 4 ms
// each to get and small ones of the same size 0.8 ms, which made loading a model of 240 MB three
// times slower. Products that stream such weights are 1 to 5 percent faster with large pages, loops
// over long arrays up to 20 percent.
#pragma once

#include <cstddef>

namespace scanloom {

/// Asks the system for large pages in [memory, memory + bytes), if it grants them on request. Does
/// nothing below 4 MB, like numpy. Call it before the memory is written.
void prefer_large_pages(void* memory, std::size_t bytes);

/// Does the same as long as they are quick to get: some are written to, and timed. For memory that
/// is written once. A byte of such pages becomes 0, as all of a new mapping is.
void prefer_quick_pages(void* memory, std::size_t bytes);

}  // namespace scanloom
