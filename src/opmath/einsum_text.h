// Einsum specifications as passes change them: turns what parse_einsum reads back into text, and
// tells whether sizes fit for certain.
#pragma once

#include <optional>
#include <string>

#include "opmath/contraction.h"
#include "tensor/type.h"

namespace scanloom::tensor {

[[nodiscard]] constexpr bool is_ellipsis(std::uint8_t label) { return label >= kEllipsisLabel; }

/// nullopt if the axes of an ellipsis are not together and in order.
std::optional<std::string> text_of(const Einsum& einsum);

/// Returns the first letter from `first` on, wrapping around the alphabet, that names no axis yet.
std::uint8_t unused_letter(const Einsum& einsum, std::uint8_t first);

/// Inserts an axis with that label at position `axis`. Precondition: there is room for it.
void insert_label(Subscripts& subscripts, int axis, std::uint8_t label);

/// Whether each label has one size in operands of those types, or 1 where it is broadcast, so that
/// the product cannot fail. Precondition: their ranks are those of the specification.
bool sizes_fit(const Type& a, const Type& b, const Einsum& einsum);

}  // namespace scanloom::tensor
