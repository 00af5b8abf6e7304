// AveragePool, GlobalLpPool, LpPool and MaxPool. Other global pools are reductions.
#include <numeric>

#include "frontends/onnx/ops/converters.h"
#include "frontends/onnx/ops/window_attributes.h"
#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

/// Version 1 allows attribute kernel_shape to be missing; the window then has one element.
Expected<std::vector<std::int64_t>> kernel_of(NodeCtx& ctx, ValueId x) {
  SCANLOOM_TRY(auto kernel, ctx.integers("kernel_shape"));
  const tensor::Type& type = ctx.type(x);
  if (!kernel.empty() || ctx.version() > 1) {
    if (!ctx.has_attribute("kernel_shape"))
      return invalid_model("attribute 'kernel_shape' is missing");
    if (type.ranked && type.rank() != static_cast<int>(kernel.size()) + 2)
      return invalid_model("attribute 'kernel_shape' has {} sizes, but {} has {} axes",
                           kernel.size(), ctx.describe_input(0), type.rank());
    return kernel;
  }
  if (!type.ranked || type.rank() < 3) return invalid_model("attribute 'kernel_shape' is missing");
  return std::vector<std::int64_t>(type.dims.size() - 2, 1);
}

Expected<std::vector<ir::NamedAttr>> pool_attributes(NodeCtx& ctx, ValueId x) {
  SCANLOOM_TRY(const char* const mode, auto_pad(ctx));
  SCANLOOM_TRY(auto kernel, kernel_of(ctx, x));
  SCANLOOM_TRY(const std::int64_t ceil_mode, ctx.integer("ceil_mode", 0));
  std::vector<ir::NamedAttr> attrs = {
      {"auto_pad", mode}, {"ceil_mode", ceil_mode != 0}, {"kernel", std::move(kernel)}};
  for (const char* const name : {"dilations", "pads", "strides"}) {
    if (!ctx.has_attribute(name)) continue;
    SCANLOOM_TRY(auto values, ctx.integers(name));
    if (!values.empty()) attrs.push_back({name, std::move(values)});
  }
  return attrs;
}

/// Returns the order of the norm: a float in version 1, an integer since version 2.
Expected<double> norm_order(NodeCtx& ctx) {
  double p = 2;
  if (ctx.version() < 2) {
    SCANLOOM_TRY(p, ctx.real("p", 2));
  } else {
    SCANLOOM_TRY(const std::int64_t order, ctx.integer("p", 2));
    p = static_cast<double>(order);
  }
  if (!(p > 0)) return invalid_model("attribute 'p' is {}, but must be above 0", p);
  return p;
}

}  // namespace

Expected<void> convert_average_pool(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(auto attrs, pool_attributes(ctx, x));
  SCANLOOM_TRY(const std::int64_t padding, ctx.integer("count_include_pad", 0));
  attrs.push_back({"count_include_pad", padding != 0});
  return ctx.emit(ops::average_pool_op, {x}, std::move(attrs));
}

Expected<void> convert_lp_pool(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(auto attrs, pool_attributes(ctx, x));
  SCANLOOM_TRY(const double p, norm_order(ctx));
  attrs.push_back({"p", p});
  return ctx.emit(ops::lp_pool_op, {x}, std::move(attrs));
}

Expected<void> convert_max_pool(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(auto attrs, pool_attributes(ctx, x));
  SCANLOOM_TRY(const std::int64_t order, ctx.integer("storage_order", 0));
  attrs.push_back({"storage_order", order});
  SCANLOOM_TRY(const ir::NodeId node,
               ctx.builder().node(ops::max_pool_op, {x}, std::move(attrs), 2));
  for (int i = 0; i < 2; ++i)
    ctx.set_output(i, ctx.module().node(node).outputs[static_cast<std::size_t>(i)]);
  return {};
}

// (sum |x|^p)^(1/p) over all axes except the first two.
Expected<void> convert_global_lp_pool(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const double p, norm_order(ctx));
  SCANLOOM_TRY(const int rank, ctx.rank(0, x, 2));
  std::vector<std::int64_t> axes(static_cast<std::size_t>(rank) - 2);
  std::iota(axes.begin(), axes.end(), 2);
  const auto reduce = [&](ValueId value, const char* kind) {
    return ctx.op(ops::reduce_op, {value}, {{"kind", kind}, {"axes", axes}, {"keepdims", 1}});
  };
  if (p == 1 || p == 2) {
    SCANLOOM_TRY(const ValueId y, reduce(x, p == 1 ? "l1" : "l2"));
    ctx.set_output(0, y);
    return {};
  }
  const DType dtype = ctx.type(x).dtype;
  SCANLOOM_TRY(const ValueId order, ctx.scalar(p, dtype));
  SCANLOOM_TRY(const ValueId inverse, ctx.scalar(1 / p, dtype));
  SCANLOOM_TRY(const ValueId size, ctx.op(ops::abs_op, {x}));
  SCANLOOM_TRY(const ValueId power, ctx.op(ops::pow_op, {size, order}));
  SCANLOOM_TRY(const ValueId sum, reduce(power, "sum"));
  return ctx.emit(ops::pow_op, {sum, inverse});
}

}  // namespace scanloom::onnx
