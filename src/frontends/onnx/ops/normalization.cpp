// Normalizations and global pooling, as inference needs them, out of reductions and arithmetic.
#include <numeric>

#include "frontends/onnx/ops/converters.h"
#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

Expected<int> known_rank(NodeCtx& ctx, ValueId x, int at_least) {
  const tensor::Type& type = ctx.type(x);
  if (!type.ranked)
    return fail(Code::unsupported, "{} has an unknown number of axes", ctx.describe_input(0));
  if (type.rank() < at_least)
    return invalid_model("{} has {} axes, at least {} are needed", ctx.describe_input(0),
                         type.rank(), at_least);
  return type.rank();
}

Expected<ValueId> reduce(NodeCtx& ctx, ValueId x, const char* kind,
                         const std::vector<std::int64_t>& axes) {
  return ctx.op(ops::reduce_op, {x}, {{"kind", kind}, {"axes", axes}, {"keepdims", 1}});
}

/// 1 / sqrt(x + epsilon).
Expected<ValueId> inverse_root(NodeCtx& ctx, ValueId x, double epsilon) {
  SCANLOOM_TRY(const ValueId small, ctx.scalar(epsilon, ctx.type(x).dtype));
  SCANLOOM_TRY(const ValueId one, ctx.scalar(1, ctx.type(x).dtype));
  SCANLOOM_TRY(const ValueId sum, ctx.op(ops::add_op, {x, small}));
  SCANLOOM_TRY(const ValueId root, ctx.op(ops::sqrt_op, {sum}));
  return ctx.op(ops::div_op, {one, root});
}

}  // namespace

// x * factor + shift, both of one number per channel (axis 1).
Expected<void> convert_batch_normalization(NodeCtx& ctx) {
  ctx.ignore("momentum");
  SCANLOOM_TRY(const double epsilon, ctx.real("epsilon", static_cast<double>(1e-5f)));
  SCANLOOM_TRY(const std::int64_t training, ctx.integer("training_mode", 0));
  for (int i = 1; i < ctx.output_count(); ++i)
    if (training != 0 || ctx.wants(i))
      return fail(Code::unsupported, "training: only output 0 can be had");
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const int rank, known_rank(ctx, x, 2));
  std::vector<std::int64_t> axes(static_cast<std::size_t>(rank - 2));
  std::iota(axes.begin(), axes.end(), 1);
  ValueId parts[4];  // scale, bias, mean, variance
  const DType dtype = ctx.type(x).dtype;
  for (int i = 0; i < 4; ++i) {
    SCANLOOM_TRY(const ValueId part, ctx.in(i + 1));
    SCANLOOM_TRY(const ValueId same, ctx.cast(part, dtype));
    SCANLOOM_TRY(parts[i], ctx.op(ops::unsqueeze_op, {same}, {{"axes", axes}}));
  }
  SCANLOOM_TRY(const ValueId inverse, inverse_root(ctx, parts[3], epsilon));
  SCANLOOM_TRY(const ValueId factor, ctx.op(ops::mul_op, {parts[0], inverse}));
  SCANLOOM_TRY(const ValueId moved, ctx.op(ops::mul_op, {parts[2], factor}));
  SCANLOOM_TRY(const ValueId shift, ctx.op(ops::sub_op, {parts[1], moved}));
  SCANLOOM_TRY(const ValueId scaled, ctx.op(ops::mul_op, {x, factor}));
  return ctx.emit(ops::add_op, {scaled, shift});
}

namespace {

struct Normalised {
  ValueId input;  // in the type that is computed in
  std::vector<std::int64_t> axes;
};

/// The axes from attribute `axis` on, and the input in the type that stash_type asks for.
Expected<Normalised> normalised_input(NodeCtx& ctx, ValueId x) {
  SCANLOOM_TRY(const std::int64_t axis, ctx.integer("axis", -1));
  SCANLOOM_TRY(const std::int64_t stash, ctx.integer("stash_type", 1));
  SCANLOOM_TRY(const int rank, known_rank(ctx, x, 1));
  const auto first = tensor::normalise_axis(axis, rank);
  if (!first) return invalid_model("attribute 'axis' is {}, outside [-{}, {})", axis, rank, rank);
  Normalised result;
  for (int i = *first; i < rank; ++i) result.axes.push_back(i);
  SCANLOOM_TRY(const DType wide, dtype_of_number(stash));
  // A wider input stays as it is.
  const bool narrow = dtype_bytes(ctx.type(x).dtype) < dtype_bytes(wide);
  SCANLOOM_TRY(result.input, ctx.cast(x, narrow ? wide : ctx.type(x).dtype));
  return result;
}

}  // namespace

Expected<void> convert_layer_normalization(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const ValueId scale, ctx.in(1));
  SCANLOOM_TRY(const ValueId bias, ctx.optional_in(2));
  SCANLOOM_TRY(const double epsilon, ctx.real("epsilon", static_cast<double>(1e-5f)));
  SCANLOOM_TRY(const Normalised input, normalised_input(ctx, x));
  SCANLOOM_TRY(const ValueId mean, reduce(ctx, input.input, "mean", input.axes));
  SCANLOOM_TRY(const ValueId centred, ctx.op(ops::sub_op, {input.input, mean}));
  SCANLOOM_TRY(const ValueId square, ctx.op(ops::mul_op, {centred, centred}));
  SCANLOOM_TRY(const ValueId variance, reduce(ctx, square, "mean", input.axes));
  SCANLOOM_TRY(const ValueId inverse, inverse_root(ctx, variance, epsilon));
  SCANLOOM_TRY(ValueId y, ctx.op(ops::mul_op, {centred, inverse}));
  SCANLOOM_TRY(y, ctx.cast(y, ctx.type(x).dtype));
  SCANLOOM_TRY(y, ctx.op(ops::mul_op, {y, scale}));
  if (bias.valid()) {
    SCANLOOM_TRY(y, ctx.op(ops::add_op, {y, bias}));
  }
  ctx.set_output(0, y);
  ctx.set_output(1, mean);
  ctx.set_output(2, inverse);
  return {};
}

Expected<void> convert_rms_normalization(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const ValueId scale, ctx.in(1));
  SCANLOOM_TRY(const double epsilon, ctx.real("epsilon", static_cast<double>(1e-5f)));
  SCANLOOM_TRY(const Normalised input, normalised_input(ctx, x));
  SCANLOOM_TRY(const ValueId square, ctx.op(ops::mul_op, {input.input, input.input}));
  SCANLOOM_TRY(const ValueId mean, reduce(ctx, square, "mean", input.axes));
  SCANLOOM_TRY(const ValueId inverse, inverse_root(ctx, mean, epsilon));
  SCANLOOM_TRY(ValueId y, ctx.op(ops::mul_op, {input.input, inverse}));
  SCANLOOM_TRY(y, ctx.cast(y, ctx.type(scale).dtype));
  return ctx.emit(ops::mul_op, {y, scale});
}

Expected<void> convert_global_pool(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const int rank, known_rank(ctx, x, 2));
  std::vector<std::int64_t> axes(static_cast<std::size_t>(rank - 2));
  std::iota(axes.begin(), axes.end(), 2);
  const bool is_mean = ctx.op_type() == "GlobalAveragePool";
  SCANLOOM_TRY(const ValueId pooled, reduce(ctx, x, is_mean ? "mean" : "max", axes));
  ctx.set_output(0, pooled);
  return {};
}

}  // namespace scanloom::onnx
