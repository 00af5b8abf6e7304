// Arithmetic operators of ai.onnx.ml: Binarizer, Imputer, Normalizer, Scaler.
#include "frontends/onnx/ops/class_labels.h"
#include "frontends/onnx/ops/converters.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

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
    y = c.sub(y, c.cast(numbers_value(c, offset), wide));
  if (const auto scale = c.take(ctx.floats("scale")); !scale.empty())
    y = c.mul(y, c.cast(numbers_value(c, scale), wide));
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
    value = numbers_value(c, c.take(ctx.floats("imputed_value_floats")));
  }
  for (const char* name : {"imputed_value_int64s", "imputed_value_floats", "replaced_value_int64",
                           "replaced_value_float"})
    ctx.ignore(name);
  if (c.known_size(value, 0) == 0) return invalid_model("it has no replacement values");
  return c.emit(c.where(missing, c.cast(value, dtype), x));
}

}  // namespace scanloom::onnx
