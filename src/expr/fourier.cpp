// Fourier transforms of numpy's form, as the operator dft, whose last axis holds the parts.
#include <scanloom/expr.h>

#include <utility>

#include "expr/apply.h"
#include "expr/types.h"
#include "ops/ops.h"

namespace scanloom {

namespace {

using expr::called;
using expr::told_as;

struct TransformKind {
  const char* name;
  bool inverse = false, onesided = false;
};

/// Returns x with its parts along a new last axis, f32 or f64.
Expr parts_of(const Expr& x) {
  if (expr::is_complex(x.dtype())) return stack({real(x), imag(x)}, x.rank());
  const bool narrow = x.dtype() == DType::f16 || x.dtype() == DType::bf16;
  const DType wide = is_floating_point(x.dtype()) ? x.dtype() : DType::f64;
  return expand_dims(cast(x, narrow ? DType::f32 : wide), {x.rank()});
}

Expr part(const Expr& y, std::int64_t i) {
  return subtensor(y, {Index::ellipsis(), Index::of(expr::integer(i))});
}

Expr transform(const Expr& x, const FourierForm& form, const TransformKind& kind) {
  if (x.error() != nullptr) return x;
  const int rank = x.rank(), axis = form.axis < 0 ? form.axis + rank : form.axis;
  const auto refuse = [&](std::string why) {
    return expr::failed(fail(Code::invalid_argument, "{} of {}: {}", kind.name, called(x), why));
  };
  if (axis < 0 || axis >= rank)
    return refuse(fmt::format("axis {} is outside its {} axes", form.axis, rank));
  if (kind.onesided && !kind.inverse && expr::is_complex(x.dtype()))
    return refuse("it is complex, so its spectrum has no redundant half; use fft");
  std::vector<Expr> inputs = {parts_of(x)};
  if (form.length.defined()) {
    if (form.length.error() != nullptr) return form.length;
    if (is_floating_point(form.length.dtype()) || form.length.rank() != 0)
      return refuse("the length is " + expr::describe(form.length) + ", not one integer");
    inputs.push_back(cast(form.length, DType::i64));
  }
  const bool divides = form.norm == (kind.inverse ? FourierNorm::backward : FourierNorm::forward);
  Expr y = expr::apply(ops::dft_op, std::move(inputs),
                       {{"axis", axis},
                        {"inverse", kind.inverse ? 1 : 0},
                        {"onesided", kind.onesided ? 1 : 0},
                        {"scaled", divides ? 1 : 0}});
  y = told_as(y, std::string(kind.name) + " of " + called(x));
  if (y.error() != nullptr) return y;
  if (form.norm == FourierNorm::ortho) {
    Expr length = form.length;
    if (!length.defined()) length = kind.onesided && kind.inverse ? size(y, axis) : size(x, axis);
    y = y / sqrt(cast(length, y.dtype()));
  }
  const bool gives_real = kind.inverse && kind.onesided;
  return gives_real ? part(y, 0) : make_complex(part(y, 0), part(y, 1));
}

}  // namespace

Expr fft(const Expr& x, const FourierForm& form) { return transform(x, form, {"fft"}); }
Expr ifft(const Expr& x, const FourierForm& form) {
  return transform(x, form, {.name = "ifft", .inverse = true});
}
Expr rfft(const Expr& x, const FourierForm& form) {
  return transform(x, form, {.name = "rfft", .onesided = true});
}
Expr irfft(const Expr& x, const FourierForm& form) {
  return transform(x, form, {.name = "irfft", .inverse = true, .onesided = true});
}

}  // namespace scanloom
