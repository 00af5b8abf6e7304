// NamedAxes: axes named by an attribute or, if only the run knows them, by an operand. Used by
// reduce, squeeze and unsqueeze.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/infer_ctx.h"

namespace scanloom::ops {

/// Axes named by an attribute or, if that is absent, by an index operand.
struct NamedAxes {
  bool present = false;                           ///< in either form
  std::optional<std::vector<std::int64_t>> axes;  ///< nullopt: absent, or known only from data
  std::int64_t count = -1;                        ///< -1: absent or unknown
};
/// Returns the axes that a node names. Errors: both forms are present; the operand has more than
/// one axis.
Expected<NamedAxes> read_named_axes(const ir::InferCtx& ctx, const tensor::Attr& attr, int operand);

/// Returns the type of a result whose axes depend on data: with fresh sizes if it has `rank` axes,
/// unranked if the rank is unknown or 0. The type is never static, so the axes are read before
/// anything is computed.
tensor::Type of_unknown_axes(ir::InferCtx& ctx, DType dtype, std::int64_t rank);

}  // namespace scanloom::ops
