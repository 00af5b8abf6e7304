// Arithmetic operators of ai.onnx.ml: Binarizer, Imputer, LinearRegressor, Normalizer, Scaler.
#include "frontends/onnx/ops/composer.h"
#include "frontends/onnx/ops/converters.h"

namespace scanloom::onnx {

using ir::ValueId;
using tensor::Shape;
using tensor::Tensor;

namespace {

/// Returns a list of floating-point numbers as an f32 tensor.
ValueId floats_value(Composer& c, const std::vector<double>& values) {
  const std::vector<float> narrow(values.begin(), values.end());
  const Shape shape = {static_cast<std::int64_t>(narrow.size())};
  Tensor made = c.take(Tensor::copy_of(DType::f32, shape, narrow.data()));
  return c.ok() ? c.ctx().builder().constant(std::move(made)) : ValueId{};
}

/// Returns the type used for computing: f32 for f32, f64 for types f32 does not represent exactly.
DType wide_enough(DType dtype) { return dtype == DType::f32 ? DType::f32 : DType::f64; }

}  // namespace

Expected<void> convert_binarizer(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId x = c.in(0);
  const DType wide = wide_enough(c.dtype(x));
  const ValueId threshold = c.scalar(c.real("threshold", 0), wide);
  return c.emit(c.cast(c.less(threshold, c.cast(x, wide)), c.dtype(x)));
}

Expected<void> convert_scaler(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId x = c.in(0);
  const DType wide = wide_enough(c.dtype(x));
  ValueId y = c.cast(x, wide);
  if (const auto offset = c.take(ctx.floats("offset")); !offset.empty())
    y = c.sub(y, c.cast(floats_value(c, offset), wide));
  if (const auto scale = c.take(ctx.floats("scale")); !scale.empty())
    y = c.mul(y, c.cast(floats_value(c, scale), wide));
  return c.emit(c.cast(y, DType::f32));
}

// If the divisor is 0, elements are left unchanged.
Expected<void> convert_normalizer(NodeCtx& ctx) {
  Composer c(ctx);
  const std::string norm = c.text("norm", "MAX");
  const ValueId given = c.in(0), x = c.cast(given, wide_enough(c.dtype(given)));
  const char* const kind = norm == "MAX" ? "max" : norm == "L1" ? "l1" : "l2";
  if (norm != "MAX" && norm != "L1" && norm != "L2")
    return invalid_model("attribute 'norm' is '{}', not MAX, L1 or L2", norm);
  const ValueId divisor = c.reduce(x, kind, {-1});
  const ValueId y = c.where(c.equal(divisor, c.like(0, x)), x, c.div(x, divisor));
  return c.emit(c.cast(y, DType::f32));
}

Expected<void> convert_imputer(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId x = c.in(0);
  const DType dtype = c.dtype(x);
  ValueId missing, value;
  if (is_integer(dtype)) {
    missing = c.equal(x, c.cast(c.number(c.integer("replaced_value_int64", 0)), dtype));
    value = c.list(c.take(ctx.integers("imputed_value_int64s")));
  } else {
    const double replaced = c.real("replaced_value_float", 0);
    missing = replaced == replaced ? c.equal(x, c.like(replaced, x)) : c.op(ops::is_nan_op, {x});
    value = floats_value(c, c.take(ctx.floats("imputed_value_floats")));
  }
  for (const char* name : {"imputed_value_int64s", "imputed_value_floats", "replaced_value_int64",
                           "replaced_value_float"})
    ctx.ignore(name);
  if (c.known_size(value, 0) == 0) return invalid_model("it has no replacement values");
  return c.emit(c.where(missing, c.cast(value, dtype), x));
}

Expected<void> convert_linear_regressor(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId x = c.in(0);
  const std::int64_t targets = c.integer("targets", 1);
  const auto coefficients = c.take(ctx.floats("coefficients"));
  const auto intercepts = c.take(ctx.floats("intercepts"));
  const std::string transform = c.text("post_transform", "NONE");
  const auto count = static_cast<std::int64_t>(coefficients.size());
  if (targets < 1 || count % targets != 0)
    return invalid_model("attribute 'coefficients' has {} entries for {} targets", count, targets);
  if (!intercepts.empty() && static_cast<std::int64_t>(intercepts.size()) != targets)
    return invalid_model("attribute 'intercepts' has {} entries for {} targets", intercepts.size(),
                         targets);
  const ValueId matrix =
      c.reshape(floats_value(c, coefficients), c.list({targets, count / targets}));
  ValueId y = c.contract(c.cast(x, DType::f32), matrix, "nf,tf->nt");
  if (!intercepts.empty()) y = c.add(y, floats_value(c, intercepts));
  if (transform == "SOFTMAX") return c.emit(c.op(ops::softmax_op, {y}, {{"axis", 1}}));
  if (transform == "LOGISTIC") return c.emit(c.op(ops::sigmoid_op, {y}));
  if (transform == "NONE") return c.emit(y);
  return fail(Code::unsupported,
              "attribute 'post_transform' is '{}', only NONE, SOFTMAX and "
              "LOGISTIC are possible",
              transform);
}

}  // namespace scanloom::onnx
