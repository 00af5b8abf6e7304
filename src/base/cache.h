// The caches of this machine.
#pragma once

#include <cstdint>

namespace scanloom {

/// Returns the bytes of a core's L2 cache, from 256 KiB to 4 MiB; 512 KiB where the system does not
/// report it. Asks the system once. Thread safe.
std::int64_t l2_cache_bytes();

}  // namespace scanloom
