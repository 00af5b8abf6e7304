// Memory in pages of its own, which the system gets back as soon as it is freed. The C library
// keeps freed blocks of up to 32 MB for later allocations, whose sizes may not fit.
#pragma once

#include <cstddef>
#include <memory>

namespace scanloom {

/// The size from which the pages are worth asking the system for.
inline constexpr std::size_t kMinOwnPages = std::size_t{1} << 20;

/// Returns zeroed memory, aligned to a page; null if there is none. Thread safe.
[[nodiscard]] std::shared_ptr<const void> own_pages(std::size_t bytes);

}  // namespace scanloom
