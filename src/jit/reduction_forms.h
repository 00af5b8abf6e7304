// What a reduction of a nest is, and which forms of it are worth writing out.
#pragma once

#include <cstdint>

#include "jit/emit_nest.h"

namespace scanloom::jit {

/// Whether the result is where an extreme stands.
bool finds_index(const loopnest::Reduction& reduction);
/// Whether it is the extreme.
bool finds_min_max(const loopnest::Reduction& reduction);
/// Whether the extreme, which the result is or where it stands, is the greatest.
bool finds_greatest(const loopnest::Reduction& reduction);

/// The type of what is reduced.
DType term_dtype(const loopnest::Reduction& reduction);

/// Whether both reduce the same numbers.
bool same_terms(const loopnest::Reduction& a, const loopnest::Reduction& b);

/// Whether it has functions of base/math.
bool has_math(const tensor::ScalarProgram& program);
/// Whether it has one that is called for each lane: more lanes at once are only more code.
bool has_calls_of_lanes(const tensor::ScalarProgram& program);

/// Whether blocks of its reads are transposed.
bool has_across(const loopnest::Nest& nest, const loopnest::Reduction& reduction);

/// Extremes of floats may be found in a form that is wrong where a NaN, or the sign of a zero,
/// decides; it notices that.
bool has_quick_form(const loopnest::Reduction& reduction);

}  // namespace scanloom::jit
