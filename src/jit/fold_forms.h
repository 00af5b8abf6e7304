// What a fold of a nest is, and which forms of it are worth writing out.
#pragma once

#include <cstdint>

#include "jit/emit_nest.h"

namespace scanloom::jit {

/// Whether the result is where an extreme stands.
bool finds_index(const loopnest::Fold& fold);
/// Whether it is the extreme.
bool finds_extreme(const loopnest::Fold& fold);
/// Whether the extreme, which the result is or where it stands, is the greatest.
bool finds_greatest(const loopnest::Fold& fold);

/// The type of what is folded.
DType term_dtype(const loopnest::Fold& fold);

/// Whether both fold the same numbers.
bool same_terms(const loopnest::Fold& a, const loopnest::Fold& b);

/// Whether it has functions of base/math.
bool has_math(const tensor::ScalarProgram& program);
/// Whether it has one that is called for each lane: more lanes at once are only more code.
bool has_calls_of_lanes(const tensor::ScalarProgram& program);

/// Whether blocks of its reads are transposed.
bool has_across(const loopnest::Nest& nest, const loopnest::Fold& fold);

/// Extremes of floats may be found in a form that is wrong where a NaN, or the sign of a zero,
/// decides; it notices that.
bool has_quick_form(const loopnest::Fold& fold);

}  // namespace scanloom::jit
