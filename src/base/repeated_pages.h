// Memory that repeats one element, such as weights of a model without trained weights. Its pages
// are the same few over and over, so it takes only the address space, and entries of page tables
// while it is read.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace scanloom {

/// Returns read-only memory, aligned to a page; null if the system has none of this kind. Its pages
/// may be given back by release_file_pages(). Thread safe. Precondition: the size of the element is
/// a power of two, at most that of a page.
[[nodiscard]] std::shared_ptr<const void> repeated_pages(std::span<const std::byte> element,
                                                         std::size_t bytes);

}  // namespace scanloom
