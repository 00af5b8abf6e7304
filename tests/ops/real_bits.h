// The floating-point dtypes, written a second time from their definitions, so that the samples do
// not depend on the conversions they test.
#pragma once

#include <cstdint>

#include <scanloom/dtype.h>

namespace scanloom::ops {

/// The value of an element with these bits. Every real dtype but nf4, which is a table.
double decode_real(DType dtype, std::uint64_t bits);

/// The bits of `value` in dtype; f32 rounds, all others must hold it exactly.
std::uint64_t encode_real(DType dtype, double value);

/// Returns the number of steps between neighbouring values of dtype from one to the other: 0 for
/// two NaN, huge for one.
double distance_in_ulps(DType dtype, std::uint64_t a, std::uint64_t b);

}  // namespace scanloom::ops
