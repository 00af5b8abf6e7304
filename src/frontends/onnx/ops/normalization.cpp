// Normalizations and global pooling, composed of reductions and arithmetic.
#include <numeric>

#include "frontends/onnx/ops/converters.h"
#include "ops/ops.h"
#include "tensor/axis_words.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

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

namespace {

/// The inputs of BatchNormalization. Statistics are per channel (axis 1) or, if an old version says
/// it is not spatial, per position in a sample.
struct Batch {
  ValueId x;
  int rank = 0;
  bool spatial = true, training = false;
  DType dtype = DType::f32;  // type used for computing

  /// Returns the axes over which batch statistics are computed.
  [[nodiscard]] std::vector<std::int64_t> axes() const {
    std::vector<std::int64_t> axes = {0};
    for (int axis = 2; axis < rank && spatial; ++axis) axes.push_back(axis);
    return axes;
  }
  /// Returns a list with one number per channel or position, reshaped to broadcast against x.
  Expected<ValueId> spread(NodeCtx& ctx, ValueId list) const {
    SCANLOOM_TRY(const ValueId same, ctx.cast(list, dtype));
    if (rank <= 2) return same;
    if (spatial) {
      std::vector<std::int64_t> after(static_cast<std::size_t>(rank - 2));
      std::iota(after.begin(), after.end(), 1);
      return ctx.op(ops::unsqueeze_op, {same}, {{"axes", std::move(after)}});
    }
    SCANLOOM_TRY(const ValueId sample, ctx.op(ops::shape_op, {x}, {{"start", 1}}));
    return ctx.op(ops::reshape_op, {same, sample}, {{"allowzero", 1}});
  }
};

/// Since version 14 an attribute selects training. Before that, additional outputs do, and up to
/// version 6 attribute is_test, which exporters for inference left out.
Expected<bool> is_training(NodeCtx& ctx) {
  bool wants_more = false;
  for (int i = 1; i < ctx.output_count(); ++i) wants_more = wants_more || ctx.wants(i);
  if (ctx.version() >= 14) {
    SCANLOOM_TRY(const std::int64_t training, ctx.integer("training_mode", 0));
    if (training == 0 && wants_more)
      return invalid_model("it has {} outputs, in test mode there is 1", ctx.output_count());
    return training != 0;
  }
  if (ctx.version() >= 7 || !ctx.has_attribute("is_test")) return wants_more;
  SCANLOOM_TRY(const std::int64_t is_test, ctx.integer("is_test", 0));
  return is_test == 0;
}

Expected<Batch> batch_of(NodeCtx& ctx) {
  Batch batch;
  SCANLOOM_TRY(batch.x, ctx.in(0));
  SCANLOOM_TRY(batch.rank, ctx.rank(0, batch.x, 1));
  SCANLOOM_TRY(batch.training, is_training(ctx));
  SCANLOOM_TRY(const std::int64_t spatial, ctx.version() < 9 ? ctx.integer("spatial", 1) : 1);
  batch.spatial = spatial != 0;
  batch.dtype = ctx.type(batch.x).dtype;
  // Sums of many narrow numbers need a wider type.
  if (batch.training && dtype_bytes(batch.dtype) < dtype_bytes(DType::f32))
    batch.dtype = DType::f32;
  return batch;
}

/// Replaces the given mean and variance by those of the batch. The running means become outputs.
Expected<void> take_statistics(NodeCtx& ctx, const Batch& batch, ValueId x, ValueId& mean,
                               ValueId& variance) {
  SCANLOOM_TRY(const double momentum, ctx.real("momentum", static_cast<double>(0.9f)));
  SCANLOOM_TRY(mean, reduce(ctx, x, "mean", batch.axes()));
  SCANLOOM_TRY(const ValueId centred, ctx.op(ops::sub_op, {x, mean}));
  SCANLOOM_TRY(const ValueId square, ctx.op(ops::mul_op, {centred, centred}));
  SCANLOOM_TRY(variance, reduce(ctx, square, "mean", batch.axes()));
  SCANLOOM_TRY(const ValueId old_share, ctx.scalar(momentum, batch.dtype));
  SCANLOOM_TRY(const ValueId new_share, ctx.scalar(1 - momentum, batch.dtype));
  for (int i = 0; i < 2; ++i) {
    SCANLOOM_TRY(const ValueId given, ctx.in(3 + i));
    SCANLOOM_TRY(const ValueId shape, ctx.op(ops::shape_op, {given}, {{"start", 0}}));
    SCANLOOM_TRY(const ValueId current,
                 ctx.op(ops::reshape_op, {i == 0 ? mean : variance, shape}, {{"allowzero", 1}}));
    SCANLOOM_TRY(ValueId running, ctx.cast(given, batch.dtype));
    SCANLOOM_TRY(running, ctx.op(ops::mul_op, {running, old_share}));
    SCANLOOM_TRY(const ValueId added, ctx.op(ops::mul_op, {current, new_share}));
    SCANLOOM_TRY(running, ctx.op(ops::add_op, {running, added}));
    SCANLOOM_TRY(running, ctx.cast(running, ctx.type(given).dtype));
    SCANLOOM_TRY(const ValueId saved, ctx.cast(current, ctx.type(given).dtype));
    ctx.set_output(1 + i, running);
    ctx.set_output(3 + i, saved);
  }
  return {};
}

}  // namespace

// x * factor + shift.
Expected<void> convert_batch_normalization(NodeCtx& ctx) {
  ctx.ignore("momentum");
  SCANLOOM_TRY(const double epsilon, ctx.real("epsilon", static_cast<double>(1e-5f)));
  SCANLOOM_TRY(const Batch batch, batch_of(ctx));
  ValueId parts[4];  // scale, bias, mean, variance
  for (int i = 0; i < (batch.training ? 2 : 4); ++i) {
    SCANLOOM_TRY(const ValueId part, ctx.in(i + 1));
    SCANLOOM_TRY(parts[i], batch.spread(ctx, part));
  }
  SCANLOOM_TRY(const ValueId x, ctx.cast(batch.x, batch.dtype));
  if (batch.training) SCANLOOM_CHECK_OK(take_statistics(ctx, batch, x, parts[2], parts[3]));
  SCANLOOM_TRY(const ValueId inverse, inverse_root(ctx, parts[3], epsilon));
  SCANLOOM_TRY(const ValueId factor, ctx.op(ops::mul_op, {parts[0], inverse}));
  SCANLOOM_TRY(const ValueId moved, ctx.op(ops::mul_op, {parts[2], factor}));
  SCANLOOM_TRY(const ValueId shift, ctx.op(ops::sub_op, {parts[1], moved}));
  SCANLOOM_TRY(const ValueId scaled, ctx.op(ops::mul_op, {x, factor}));
  SCANLOOM_TRY(const ValueId y, ctx.op(ops::add_op, {scaled, shift}));
  SCANLOOM_TRY(const ValueId same, ctx.cast(y, ctx.type(batch.x).dtype));
  ctx.set_output(0, same);
  return {};
}

namespace {

struct Normalised {
  ValueId input;  // in the type used for computing
  std::vector<std::int64_t> axes;
  DType stash;  // of further outputs
};

/// Returns the axes from attribute `axis` on, and the input in the type given by stash_type.
Expected<Normalised> normalised_input(NodeCtx& ctx, ValueId x) {
  SCANLOOM_TRY(const std::int64_t axis, ctx.integer("axis", -1));
  SCANLOOM_TRY(const std::int64_t stash, ctx.integer("stash_type", 1));
  SCANLOOM_TRY(const int rank, ctx.rank(0, x, 1));
  const auto first = tensor::normalise_axis(axis, rank);
  if (!first) return invalid_model("attribute 'axis' is {}, {}", axis, tensor::outside_axes(rank));
  Normalised result;
  for (int i = *first; i < rank; ++i) result.axes.push_back(i);
  SCANLOOM_TRY(const DType wide, dtype_of_number(stash));
  result.stash = wide;
  // A wider input keeps its type.
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
  SCANLOOM_TRY(const ValueId stored_mean, ctx.cast(mean, input.stash));
  SCANLOOM_TRY(const ValueId stored_inverse, ctx.cast(inverse, input.stash));
  ctx.set_output(1, stored_mean);
  ctx.set_output(2, stored_inverse);
  return {};
}

// SimplifiedLayerNormalization is its name in ONNX Runtime, where it has a second output.
Expected<void> convert_rms_normalization(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const ValueId scale, ctx.in(1));
  SCANLOOM_TRY(const double epsilon, ctx.real("epsilon", static_cast<double>(1e-5f)));
  SCANLOOM_TRY(const Normalised input, normalised_input(ctx, x));
  SCANLOOM_TRY(const ValueId square, ctx.op(ops::mul_op, {input.input, input.input}));
  SCANLOOM_TRY(const ValueId mean, reduce(ctx, square, "mean", input.axes));
  SCANLOOM_TRY(const ValueId inverse, inverse_root(ctx, mean, epsilon));
  SCANLOOM_TRY(const ValueId stored, ctx.cast(inverse, input.stash));
  ctx.set_output(1, stored);
  SCANLOOM_TRY(ValueId y, ctx.op(ops::mul_op, {input.input, inverse}));
  SCANLOOM_TRY(y, ctx.cast(y, ctx.type(scale).dtype));
  return ctx.emit(ops::mul_op, {y, scale});
}

Expected<void> convert_global_pool(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const int rank, ctx.rank(0, x, 2));
  std::vector<std::int64_t> axes(static_cast<std::size_t>(rank - 2));
  std::iota(axes.begin(), axes.end(), 2);
  const bool is_mean = ctx.op_type() == "GlobalAveragePool";
  SCANLOOM_TRY(const ValueId pooled, reduce(ctx, x, is_mean ? "mean" : "max", axes));
  ctx.set_output(0, pooled);
  return {};
}

}  // namespace scanloom::onnx
