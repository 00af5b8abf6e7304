// What one core does at best, measured with the strips that products are made of: the roofline that
// explain() compares loops with.
#pragma once

#include <cstdint>

#include "base/cpu.h"

namespace scanloom::kernels {

/// Multiplications and additions of f32 per second, counted one by one, of operands in the first
/// cache. About 50 ms.
double measure_operations(Isa isa);

/// Bytes per second that a product of one or two rows reads of weights of that many bytes, again
/// and again. About 100 ms. Precondition: bytes >= 4096. Throws bad_alloc.
double measure_reads(Isa isa, std::int64_t bytes);

}  // namespace scanloom::kernels
