// Conversions of element types: Convert, ConvertLike, ConvertPromoteTypes and FakeConvert.
#include <algorithm>

#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/operands.h"

namespace scanloom::openvino {

using ir::ValueId;
using ops::Composer;

namespace {

Expected<void> emit_cast(LayerCtx& ctx, DType to) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  if (ctx.type(x).dtype != to) return ctx.emit(ops::cast_op, {x}, {{"to", to}});
  ctx.alias_output();
  return {};
}

}  // namespace

Expected<void> convert_convert(LayerCtx& ctx) {
  SCANLOOM_TRY(const DType to, ctx.attributes.dtype("destination_type"));
  return emit_cast(ctx, to);
}

Expected<void> convert_convert_like(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId like, ctx.in(1));
  return emit_cast(ctx, ctx.type(like).dtype);
}

namespace {

/// Kinds in ascending priority: booleans, integers, floating point.
int kind_order(DType dtype) { return is_floating_point(dtype) ? 2 : is_integer(dtype) ? 1 : 0; }

bool is_signed_integer(DType dtype) { return dtype_kind(dtype) == DTypeKind::signed_int; }

/// One of the two operands converted to a common type.
struct Promoted {
  DType dtype = DType::f32;
  bool is_scalar = false;

  [[nodiscard]] int order() const { return kind_order(dtype); }
  [[nodiscard]] int bits() const { return dtype_file_bits(dtype); }
};

/// Returns a type that represents both, if neither is a scalar that yields. Two 16-bit float types
/// become f32. Signed and unsigned integers become signed ones wide enough for both, which does not
/// exist for u64.
Expected<DType> common_type(LayerCtx& ctx, const Promoted& a, const Promoted& b) {
  if (a.order() != b.order()) return a.order() > b.order() ? a.dtype : b.dtype;
  const Promoted& wider = a.bits() > b.bits() ? a : b;
  if (is_floating_point(a.dtype)) return a.bits() == b.bits() ? DType::f32 : wider.dtype;
  if (is_signed_integer(a.dtype) == is_signed_integer(b.dtype)) return wider.dtype;
  const Promoted& with_sign = is_signed_integer(a.dtype) ? a : b;
  const Promoted& without = &with_sign == &a ? b : a;
  if (without.dtype == DType::u64)
    return ctx.attributes.dtype("u64_integer_promotion_target", DType::f32);
  const int bits = std::max(with_sign.bits(), 2 * without.bits());
  return bits <= 8 ? DType::i8 : bits <= 16 ? DType::i16 : bits <= 32 ? DType::i32 : DType::i64;
}

/// Whether OpenVINO considers the promotion lossless.
bool is_safe(const Promoted& a, const Promoted& b, DType result, bool yields) {
  for (const Promoted& from : {a, b}) {
    if (is_floating_point(result) && is_integer(from.dtype) &&
        2 * from.bits() > dtype_file_bits(result))
      return false;
    if (!yields || !from.is_scalar || from.order() != kind_order(result)) continue;
    const bool loses_sign = is_signed_integer(from.dtype) && !is_signed_integer(result);
    const bool gains_sign = !is_signed_integer(from.dtype) && is_signed_integer(result);
    if ((is_integer(result) && loses_sign) ||
        from.bits() > dtype_file_bits(result) * (gains_sign ? 2 : 1))
      return false;
  }
  return result == a.dtype || result == b.dtype;
}

Expected<DType> promoted_type(LayerCtx& ctx, const Promoted& a, const Promoted& b) {
  if (a.dtype == b.dtype) return a.dtype;
  SCANLOOM_TRY(const bool unsafe, ctx.attributes.boolean("promote_unsafe", false));
  SCANLOOM_TRY(bool yields, ctx.attributes.boolean("pytorch_scalar_promotion", false));
  yields = yields && a.is_scalar != b.is_scalar;
  const Promoted &scalar = a.is_scalar ? a : b, &tensor = a.is_scalar ? b : a;
  SCANLOOM_TRY(DType result, common_type(ctx, a, b));
  if (yields && tensor.order() >= scalar.order()) result = tensor.dtype;
  if (!unsafe && a.order() > 0 && b.order() > 0 && !is_safe(a, b, result, yields))
    return invalid_model("{} and {} become {}, which loses values, but promote_unsafe is false",
                         dtype_name(a.dtype), dtype_name(b.dtype), dtype_name(result));
  return result;
}

}  // namespace

Expected<void> convert_convert_promote_types(LayerCtx& ctx) {
  ValueId x[2];
  Promoted sides[2];
  for (int i = 0; i < 2; ++i) {
    SCANLOOM_TRY(x[i], ctx.in(i));
    const tensor::Type& type = ctx.type(x[i]);
    sides[i] = {type.dtype, type.ranked && type.rank() == 0};
  }
  SCANLOOM_TRY(const DType dtype, promoted_type(ctx, sides[0], sides[1]));
  Composer c(ctx.builder());
  for (int i = 0; i < 2; ++i) {
    const ValueId y = c.cast(x[i], dtype);
    SCANLOOM_CHECK_OK(c.done());
    ctx.set_output(i, y);
  }
  return {};
}

// Rounds x * scale - shift to 8 bits and converts it back.
Expected<void> convert_fake_convert(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId given, ctx.in(0));
  SCANLOOM_TRY(const DType to, ctx.attributes.dtype("destination_type"));
  if (to != DType::f8e4m3fn && to != DType::f8e5m2)
    return invalid_model("attribute 'destination_type' is {}, but f8e4m3 or f8e5m2 is needed",
                         dtype_name(to));
  Composer c(ctx.builder());
  const DType own = c.dtype(given), dtype = ops::at_least_f32(own);
  const ValueId scale = c.cast(c.take(ctx.in(1)), dtype);
  const ValueId shift = ctx.has(2) ? c.cast(c.take(ctx.in(2)), dtype) : c.scalar(0, dtype);
  const ValueId moved = c.sub(c.mul(c.cast(given, dtype), scale), shift);
  const ValueId kept = c.cast(c.cast(moved, to), dtype);
  return ctx.emit(c, c.cast(c.div(c.add(kept, shift), scale), own));
}

}  // namespace scanloom::openvino
