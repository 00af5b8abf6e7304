// What rules for streams share that pick or write elements by index: an index may point anywhere
// along its axis, but nowhere else.
#pragma once

#include <optional>

#include "ir/node_attr.h"
#include "ops/step_rules.h"
#include "tensor/shape.h"

namespace scanloom::ops {

inline constexpr std::size_t kDataOperand = 0, kIndexOperand = 1, kUpdateOperand = 2;

/// Returns the axis of the data that the attribute `axis` names; nullopt if it is outside.
inline std::optional<int> data_axis(const ir::StepSite& s) {
  return attribute_axis(s, s.type(kDataOperand).rank());
}

/// Returns how many indices a tuple has; nullopt if that is not known.
inline std::optional<int> tuple_length(const ir::StepSite& s) {
  const ir::Dim length = s.type(kIndexOperand).dims.back();
  if (!length.is_constant()) return std::nullopt;
  return static_cast<int>(length.value());
}

inline Error error_selects_steps() { return ir::across("it selects some of them"); }
inline Error error_other_steps() { return ir::across("it reads elements of other steps"); }

}  // namespace scanloom::ops
