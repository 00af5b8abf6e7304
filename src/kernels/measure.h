// Measures the peak of one core with the strips that products are made of. This gives the roofline
// that explain() compares loops with.
#pragma once

#include <cstdint>

#include "base/cpu.h"

namespace scanloom::kernels {

/// Returns f32 operations per second with operands in the L1 cache; a multiplication and an
/// addition count as two. Takes about 50 ms.
double measure_operations(Isa isa);

/// Returns the bytes per second at which a product of one or two rows reads weights of `bytes`
/// bytes over and over. Takes about 100 ms. Precondition: bytes >= 4096. Throws bad_alloc.
double measure_reads(Isa isa, std::int64_t bytes);

}  // namespace scanloom::kernels
