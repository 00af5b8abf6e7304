// Element-wise functions that are not a single layer.
#include "exporters/openvino/element_types.h"
#include "exporters/openvino/ops/forms.h"
#include "ops/composer.h"

namespace scanloom::exporters::openvino {

void write_first(NodeWriter& out) { out.set(out.in(0)); }

namespace {

/// Whether the operators round after every step of a function, while IR layers round only at the
/// end.
bool is_narrow(DType dtype) { return ops::at_least_f32(dtype) != dtype; }

/// Returns the largest finite value of an 8-bit float type, beyond which OpenVINO's own conversions
/// go out of range; 0 for other types.
double greatest_of_8_bits(DType dtype) {
  if (dtype == DType::f8e4m3fn) return 448;
  return dtype == DType::f8e5m2 ? 57344 : 0;
}

}  // namespace

/// Values out of range become the largest finite value.
void write_cast(NodeWriter& out) {
  const DType from = out.dtype(), to = out.result_type().dtype;
  const double most = greatest_of_8_bits(to);
  Output x = out.in(0);
  if (most != 0 && is_floating_point(from) && dtype_file_bits(from) > 8) {
    const Output inside =
        out.layer("Clamp", 1, {x}, from, {{"min", real_text(-most)}, {"max", real_text(most)}});
    const Output is_nan = out.layer("IsNaN", 10, {x}, DType::boolean);
    x = out.layer("Select", 1, {is_nan, x, inside}, from);
  }
  out.set(out.convert(x, to));
}

void write_clip(NodeWriter& out) {
  Output x = out.in(0);
  if (out.has(1)) x = out.binary("Maximum", x, out.in(1), out.dtype());
  if (out.has(2)) x = out.binary("Minimum", x, out.in(2), out.dtype());
  out.set(x);
}

/// Integer division truncates.
void write_div(NodeWriter& out) {
  Data data;
  if (!is_floating_point(out.dtype()))
    data = {{"auto_broadcast", "numpy"}, {"m_pythondiv", "false"}};
  out.set(out.layer("Divide", 1, {out.in(0), out.in(1)}, out.dtype(), std::move(data)));
}

void write_mod(NodeWriter& out) {
  out.set(out.binary(out.flag("fmod") ? "Mod" : "FloorMod", out.in(0), out.in(1), out.dtype()));
}

/// The layer takes one type for both operands. An integer raised to a floating-point power is
/// rounded towards zero.
void write_pow(NodeWriter& out) {
  const DType result = out.dtype(0), exponent = out.dtype(1);
  if (is_floating_point(result) || !is_floating_point(exponent)) {
    const Output y = result == exponent ? out.in(1) : out.convert(out.in(1), result);
    return out.set(out.binary("Power", out.in(0), y, result));
  }
  const Output x = out.convert(out.in(0), exponent);
  out.set(out.convert(out.binary("Power", x, out.in(1), exponent), result));
}

void write_round(NodeWriter& out) {
  out.set(out.layer("Round", 5, {out.in(0)}, out.dtype(), {{"mode", "half_to_even"}}));
}

void write_is_inf(NodeWriter& out) {
  const auto word = [&](const char* name) { return out.flag(name) ? "true" : "false"; };
  out.set(out.layer("IsInf", 10, {out.in(0)}, DType::boolean,
                    {{"detect_negative", word("detect_negative")},
                     {"detect_positive", word("detect_positive")}}));
}

void write_elu(NodeWriter& out) {
  const DType dtype = out.dtype();
  const double alpha = out.attr("alpha").real();
  const Output x = out.in(0);
  if (!is_narrow(dtype))
    return out.set(out.layer("Elu", 1, {x}, dtype, {{"alpha", real_text(alpha)}}));
  const Output power = out.layer("Exp", 1, {x}, dtype);
  const Output grown = out.binary("Subtract", power, out.scalar(1, dtype), dtype);
  const Output below = out.binary("Multiply", out.scalar(alpha, dtype), grown, dtype);
  const Output is_below = out.binary("Less", x, out.scalar(0, dtype), DType::boolean);
  out.set(out.layer("Select", 1, {is_below, below, x}, dtype));
}

void write_hard_sigmoid(NodeWriter& out) {
  const DType dtype = out.dtype();
  const Output x = out.in(0), alpha = out.scalar(out.attr("alpha").real(), dtype);
  const Output beta = out.scalar(out.attr("beta").real(), dtype);
  if (!is_narrow(dtype)) return out.set(out.layer("HardSigmoid", 1, {x, alpha, beta}, dtype));
  const Output line = out.binary("Add", out.binary("Multiply", alpha, x, dtype), beta, dtype);
  const Output limited = out.binary("Minimum", line, out.scalar(1, dtype), dtype);
  out.set(out.binary("Maximum", limited, out.scalar(0, dtype), dtype));
}

void write_leaky_relu(NodeWriter& out) {
  const DType dtype = out.dtype();
  const Output x = out.in(0);
  const Output below = out.binary("Less", x, out.scalar(0, dtype), DType::boolean);
  const Output scaled =
      out.binary("Multiply", x, out.scalar(out.attr("alpha").real(), dtype), dtype);
  out.set(out.layer("Select", 1, {below, scaled, x}, dtype));
}

namespace {

/// Computes an element-wise function in f32 or wider, because the operator rounds once.
template <class Function>
void write_wide(NodeWriter& out, Function&& function) {
  const DType dtype = out.dtype(), wide = ops::at_least_f32(dtype);
  if (wide == dtype) return out.set(function(out.in(0), dtype));
  out.set(out.convert(function(out.convert(out.in(0), wide), wide), dtype));
}

}  // namespace

/// tanh(x / 2) (exp(x) + 1), which is accurate near 0.
void write_expm1(NodeWriter& out) {
  write_wide(out, [&](Output x, DType dtype) {
    const Output half = out.binary("Multiply", x, out.scalar(0.5, dtype), dtype);
    const Output powers = out.layer("Exp", 1, {x}, dtype);
    return out.binary("Multiply", out.layer("Tanh", 1, {half}, dtype),
                      out.binary("Add", powers, out.scalar(1, dtype), dtype), dtype);
  });
}

/// log(u) x / (u - 1) with u = 1 + x, whose rounding errors cancel. Returns x where u is 1, and
/// log(u) where both may be infinite.
void write_log1p(NodeWriter& out) {
  write_wide(out, [&](Output x, DType dtype) {
    const Output one = out.scalar(1, dtype);
    const Output above = out.binary("Add", x, one, dtype);
    const Output far = out.layer("Log", 1, {above}, dtype);
    const Output ratio = out.binary("Divide", x, out.binary("Subtract", above, one, dtype), dtype);
    const Output is_one = out.binary("Equal", above, one, DType::boolean);
    const Output near =
        out.layer("Select", 1, {is_one, x, out.binary("Multiply", far, ratio, dtype)}, dtype);
    const Output is_near = out.binary("Less", x, one, DType::boolean);
    return out.layer("Select", 1, {is_near, near, far}, dtype);
  });
}

}  // namespace scanloom::exporters::openvino
