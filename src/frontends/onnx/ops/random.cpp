// RandomNormal, RandomUniform, their Like forms, Bernoulli and Multinomial.
#include <bit>

#include "frontends/onnx/ops/composer.h"
#include "frontends/onnx/ops/converters.h"
#include "frontends/onnx/ops/draw.h"
#include "ops/random/multinomial.h"

namespace scanloom::onnx {

using ir::ValueId;

ValueId draw(Composer& c, const char* kind, ValueId shape, DType dtype) {
  std::int64_t seed = c.ctx().reading().options.seed;
  // Nodes are numbered in reading order, so the same model gives the same numbers.
  std::int64_t stream = static_cast<std::int64_t>(c.ctx().module().node_count()) + 1;
  if (c.ctx().has_attribute("seed")) {
    // The seed of Dropout is an integer, that of the others a float.
    seed = c.ctx().op_type() == "Dropout"
               ? c.integer("seed", 0)
               : std::bit_cast<std::int32_t>(static_cast<float>(c.real("seed", 0)));
    stream = 0;
  }
  return c.op(ops::random_op, {shape},
              {{"kind", kind}, {"to", at_least_f32(dtype)}, {"seed", seed}, {"stream", stream}});
}

namespace {

ValueId given_shape(Composer& c) {
  if (!c.ctx().has_attribute("shape")) c.refuse(invalid_model("attribute 'shape' is missing"));
  const auto sizes = c.take(c.ctx().integers("shape"));
  for (const std::int64_t size : sizes)
    if (size < 0) c.refuse(invalid_model("attribute 'shape' has the negative size {}", size));
  return c.list(sizes);
}

/// Returns the element type given by attribute dtype, which must be floating point.
DType real_dtype(Composer& c, DType fallback) {
  const DType dtype = c.dtype_attribute("dtype", fallback);
  if (c.ok() && !is_floating_point(dtype))
    c.refuse(invalid_model("attribute 'dtype' is {}, but a floating-point type is needed",
                           dtype_onnx_name(dtype)));
  return dtype;
}

/// base + factor * random, rounded to dtype once.
Expected<void> emit_scaled(Composer& c, const char* kind, ValueId shape, DType dtype, double base,
                           double factor) {
  const ValueId random = draw(c, kind, shape, dtype);
  const ValueId scaled = c.mul(random, c.like(factor, random));
  return c.emit(c.cast(c.add(scaled, c.like(base, random)), dtype));
}

Expected<void> emit_normal(Composer& c, ValueId shape, DType dtype) {
  return emit_scaled(c, "normal", shape, dtype, c.real("mean", 0), c.real("scale", 1));
}

Expected<void> emit_uniform(Composer& c, ValueId shape, DType dtype) {
  const double low = c.real("low", 0), high = c.real("high", 1);
  return emit_scaled(c, "uniform", shape, dtype, low, high - low);
}

}  // namespace

Expected<void> convert_random(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId shape = given_shape(c);
  const DType dtype = real_dtype(c, DType::f32);
  const bool normal = ctx.op_type() == "RandomNormal";
  return normal ? emit_normal(c, shape, dtype) : emit_uniform(c, shape, dtype);
}

Expected<void> convert_random_like(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId x = c.in(0), shape = c.shape(x);
  const DType dtype = real_dtype(c, c.dtype(x));
  const bool normal = ctx.op_type() == "RandomNormalLike";
  return normal ? emit_normal(c, shape, dtype) : emit_uniform(c, shape, dtype);
}

// 1 where a uniform number in [0, 1) is less than the probability, so always if that is 1.
Expected<void> convert_bernoulli(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId p = c.in(0);
  const DType dtype = c.dtype_attribute("dtype", c.dtype(p));
  const ValueId random = draw(c, "uniform", c.shape(p), c.dtype(p));
  return c.emit(c.cast(c.less(random, c.cast(p, c.dtype(random))), dtype));
}

// The inputs are log-probabilities, up to an additive constant.
Expected<void> convert_multinomial(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId x = c.in(0);
  const DType dtype = c.dtype_attribute("dtype", DType::i32);
  if (dtype != DType::i32 && dtype != DType::i64)
    return invalid_model("attribute 'dtype' is {}, neither int32 nor int64",
                         dtype_onnx_name(dtype));
  const std::int64_t samples = c.integer("sample_size", 1);
  if (samples < 0) return invalid_model("attribute 'sample_size' is {}", samples);
  if (const int rank = c.rank(0, x, 2); c.ok() && rank != 2)
    return invalid_model("{} has {} axes, not 2", ctx.describe_input(0), rank);
  const ValueId soft = c.op(ops::softmax_op, {c.cast(x, DType::f64)}, {{"axis", 1}});
  const ValueId random = draw(c, "uniform", c.join({c.dim(x, 0), c.number(samples)}), DType::f64);
  return c.emit(c.cast(ops::picked_classes(c, soft, random), dtype));
}

}  // namespace scanloom::onnx
