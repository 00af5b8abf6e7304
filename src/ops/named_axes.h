// Axes that are named by an attribute or, where only the run knows them, by an operand: reduce,
// squeeze, unsqueeze.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/infer_ctx.h"

namespace scanloom::ops {

/// Axes that an attribute names or, where that is absent, an index operand.
struct NamedAxes {
  bool present = false;                           ///< in either form
  std::optional<std::vector<std::int64_t>> axes;  ///< nullopt: absent, or only data decides
  std::int64_t count = -1;                        ///< -1: absent or not known
};
/// Errors: both forms are present; the operand has more than one axis.
Expected<NamedAxes> named_axes(const ir::InferCtx& ctx, const tensor::Attr& attr, int operand);

/// The type of a result whose axes only data decides: of fresh sizes where it has `rank` axes, and
/// unranked where that is not known or it has none. It never is static, so that the axes are
/// looked at before anything is computed.
tensor::Type of_unknown_axes(ir::InferCtx& ctx, DType dtype, std::int64_t rank);

}  // namespace scanloom::ops
