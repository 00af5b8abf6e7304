// GatherND, Scatter, ScatterElements, ScatterND.
#include "frontends/onnx/ops/converters.h"
#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;

Expected<void> convert_gather_nd(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId data, ctx.in(0));
  SCANLOOM_TRY(const ValueId indices, ctx.in(1));
  SCANLOOM_TRY(const std::int64_t batch_dims, ctx.integer("batch_dims", 0));
  return ctx.emit(ops::gather_nd_op, {data, indices}, {{"batch_dims", batch_dims}});
}

// Scatter is the old name of ScatterElements and has no reduction.
Expected<void> convert_scatter_elements(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId data, ctx.in(0));
  SCANLOOM_TRY(const ValueId indices, ctx.in(1));
  SCANLOOM_TRY(const ValueId updates, ctx.in(2));
  SCANLOOM_TRY(const std::int64_t axis, ctx.integer("axis", 0));
  SCANLOOM_TRY(std::string reduction, ctx.text("reduction", "none"));
  return ctx.emit(ops::scatter_elements_op, {data, indices, updates},
                  {{"axis", axis}, {"reduction", std::move(reduction)}});
}

Expected<void> convert_scatter_nd(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId data, ctx.in(0));
  SCANLOOM_TRY(const ValueId indices, ctx.in(1));
  SCANLOOM_TRY(const ValueId updates, ctx.in(2));
  SCANLOOM_TRY(std::string reduction, ctx.text("reduction", "none"));
  return ctx.emit(ops::scatter_nd_op, {data, indices, updates},
                  {{"reduction", std::move(reduction)}});
}

}  // namespace scanloom::onnx
