// Einsum specifications as passes change them: what parse_einsum reads, written back, and whether
// sizes surely fit.
#pragma once

#include <optional>
#include <string>

#include "opmath/contraction.h"
#include "tensor/type.h"

namespace scanloom::passes {

[[nodiscard]] constexpr bool is_ellipsis(std::uint8_t label) {
  return label >= tensor::kEllipsisLabel;
}

/// nullopt where the axes of an ellipsis do not stand together in their order.
std::optional<std::string> text_of(const tensor::Einsum& einsum);

/// The first letter from `first` on, around the alphabet, that names no axis yet.
std::uint8_t unused_letter(const tensor::Einsum& einsum, std::uint8_t first);

/// A further axis with that label at position `axis`. Precondition: there is room for it.
void insert_label(tensor::Subscripts& subscripts, int axis, std::uint8_t label);

/// Whether each label has one size in operands of those types, or 1 where it is broadcast: the
/// product cannot fail. Precondition: their ranks are those of the specification.
bool sizes_fit(const tensor::Type& a, const tensor::Type& b, const tensor::Einsum& einsum);

}  // namespace scanloom::passes
