// Helpers with which converters read operands and attributes, beyond those of LayerCtx.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "frontends/openvino/layer_ctx.h"

namespace scanloom::openvino {

/// Returns the layer's operation as spelled in list.inc, however the layer spells it.
std::string_view operation(const LayerCtx& ctx);

/// Returns input i, integers of any type, as i64. A constant stays one. Error: not integers.
Expected<ir::ValueId> index_operand(LayerCtx& ctx, int i);
/// Like index_operand(), for operators that also take i32.
Expected<ir::ValueId> indices_operand(LayerCtx& ctx, int i);
/// Like index_operand(); a scalar becomes a list with one element.
Expected<ir::ValueId> index_list(LayerCtx& ctx, int i);
/// Like index_operand(); a list with one element becomes a scalar.
Expected<ir::ValueId> index_scalar(LayerCtx& ctx, int i);

/// Returns the axis given by input i, a constant, in [0, rank). Error: outside [-rank, rank).
Expected<int> axis_operand(LayerCtx& ctx, int i, int rank);
/// Like axis_operand(), for a list. Error: an axis occurs twice.
Expected<std::vector<std::int64_t>> axes_operand(LayerCtx& ctx, int i, int rank);
/// Returns the axis given by an attribute, which is required if the fallback is nullopt.
Expected<int> axis_attribute(LayerCtx& ctx, std::string_view name,
                             std::optional<std::int64_t> fallback, int rank);

/// Sets output i to integers in the element type given by an attribute, i64 if it is missing.
Expected<void> set_indices(LayerCtx& ctx, ops::Composer& c, int i, ir::ValueId value,
                           std::string_view attribute);

/// Makes a run fail if `sizes`, a list known only at run time, give more than 2^40 elements, before
/// the inputs of the result are computed. Negative sizes count as 0.
void limit_elements(ops::Composer& c, ir::ValueId sizes);

/// Returns the number of elements of input i, a list. Error: unknown (unsupported), not a list.
Expected<std::int64_t> list_length(LayerCtx& ctx, int i);

}  // namespace scanloom::openvino
