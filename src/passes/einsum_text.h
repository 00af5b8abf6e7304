// The text of an einsum specification that a pass has changed: what parse_einsum reads, written
// back.
#pragma once

#include <optional>
#include <string>

#include "tensor/contraction.h"

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

}  // namespace scanloom::passes
