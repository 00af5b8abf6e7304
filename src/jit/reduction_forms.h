// Classifies the reductions of a nest, and decides which forms of them are worth emitting.
#pragma once

#include <cstdint>

#include "jit/emit_nest.h"

namespace scanloom::jit {

/// Whether the result is the index of a maximum or minimum.
bool finds_index(const loopnest::Reduction& reduction);
/// Whether the result is a maximum or minimum.
bool finds_min_max(const loopnest::Reduction& reduction);
/// Whether the maximum, not the minimum, is sought.
bool finds_greatest(const loopnest::Reduction& reduction);

/// Returns the dtype of the terms.
DType term_dtype(const loopnest::Reduction& reduction);

/// Whether both reduce the same terms.
bool same_terms(const loopnest::Reduction& a, const loopnest::Reduction& b);

/// Whether the program has functions of base/math.
bool has_math(const tensor::ScalarProgram& program);
/// Whether it has pow, which fills the registers by itself: more lanes at once are only more code.
bool has_pow(const tensor::ScalarProgram& program);

/// Whether blocks of its reads are transposed.
bool has_across(const loopnest::Nest& nest, const loopnest::Reduction& reduction);

/// Whether it has a quick form: a floating-point maximum or minimum that is wrong only if a NaN, or
/// the sign of a zero, decides, and that detects this.
bool has_quick_form(const loopnest::Reduction& reduction);

}  // namespace scanloom::jit
