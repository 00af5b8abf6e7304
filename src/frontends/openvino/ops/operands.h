// What converters ask of operands and attributes beyond what LayerCtx says.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "frontends/openvino/layer_ctx.h"

namespace scanloom::openvino {

/// The layer's operation as list.inc writes it, however the layer does.
std::string_view operation(const LayerCtx& ctx);

/// Input i, of integers of any type, as i64. A constant stays one. Error: no integers.
Expected<ir::ValueId> index_operand(LayerCtx& ctx, int i);
/// As index_operand(), of operators that take i32 too.
Expected<ir::ValueId> indices_operand(LayerCtx& ctx, int i);
/// As index_operand(); a scalar becomes a list of one.
Expected<ir::ValueId> index_list(LayerCtx& ctx, int i);
/// As index_operand(); a list of one becomes a scalar.
Expected<ir::ValueId> index_scalar(LayerCtx& ctx, int i);

/// The axis that input i, a constant, names, from 0 on. Error: outside [-rank, rank).
Expected<int> axis_operand(LayerCtx& ctx, int i, int rank);
/// As axis_operand(), of a list. Error: one of them is named twice.
Expected<std::vector<std::int64_t>> axes_operand(LayerCtx& ctx, int i, int rank);
/// The axis that an attribute names; nullopt as fallback: it must be there.
Expected<int> axis_attribute(LayerCtx& ctx, std::string_view name,
                             std::optional<std::int64_t> fallback, int rank);

/// Sets output i to integers in the element type that an attribute says, i64 where it is missing.
Expected<void> set_indices(LayerCtx& ctx, ops::Composer& c, int i, ir::ValueId value,
                           std::string_view attribute);

/// A run in which `sizes`, a list that only the run knows, make more than 2^40 elements fails here,
/// before what the result is computed from has been made. Negative ones count as 0.
void limit_elements(ops::Composer& c, ir::ValueId sizes);

/// The number of elements of a list, input i. Error: not known (unsupported), no list.
Expected<std::int64_t> list_length(LayerCtx& ctx, int i);

}  // namespace scanloom::openvino
