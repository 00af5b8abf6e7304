// The rule of Fourier transforms. They are linear, so the cotangent is the adjoint transform of the
// result's: the one with the opposite sign in the exponent and the same scale.
#include "expr/apply.h"
#include "grad/rules.h"
#include "ops/ops.h"

namespace scanloom::autodiff {
namespace {

struct FourierAttrs {
  int axis = 0;
  bool inverse = false, onesided = false, scaled = false;
};

FourierAttrs fourier_attrs(const Pull& p) {
  const auto flag = [&](std::string_view name) { return p.attr(name).integer() != 0; };
  const auto axis = static_cast<int>(p.attr("axis").integer());
  return {.axis = axis < 0 ? axis + p.in(0).rank() : axis,
          .inverse = flag("inverse"),
          .onesided = flag("onesided"),
          .scaled = flag("scaled")};
}

Expr transformed(const Expr& x, const Expr& length, const FourierAttrs& attrs) {
  return expr::apply(ops::dft_op, {x, length},
                     {{"axis", attrs.axis},
                      {"inverse", attrs.inverse ? 1 : 0},
                      {"onesided", attrs.onesided ? 1 : 0},
                      {"scaled", attrs.scaled ? 1 : 0}});
}

/// The length of the transform, a scalar i64.
Expr length_of(const Pull& p, const FourierAttrs& attrs) {
  if (!attrs.onesided || attrs.inverse) return size(p.out(), attrs.axis);
  if (p.node->inputs.size() > 1 && p.in(1).defined())
    return reshape(cast(p.in(1), DType::i64), expr::integers({}));
  return size(p.in(0), attrs.axis);
}

/// Multiplies the elements of a half spectrum that represent two by `factor`.
Expr weighted(const Expr& spectrum, const Expr& length, int axis, double factor) {
  if (spectrum.error() != nullptr) return spectrum;
  Axes after;
  for (int i = axis + 1; i < spectrum.rank(); ++i) after.push_back(i - axis);
  const Expr k = expand_dims(arange(0, size(spectrum, axis)), after);
  const Expr alone = equal(k, expr::integer(0)) | equal(k * 2, length);
  const DType dtype = spectrum.dtype();
  return spectrum * where(alone, number(1, dtype), number(factor, dtype));
}

/// Cuts x along the axis, or pads it with zeros, to the size that `like` has.
Expr fitted_along(const Expr& x, const Expr& like, int axis) {
  if (x.error() != nullptr) return x;
  const auto at = static_cast<std::size_t>(axis);
  if (x.sizes()[at] >= 0 && x.sizes()[at] == like.sizes()[at]) return x;
  std::vector<Expr> pads(static_cast<std::size_t>(2 * x.rank()), expr::integer(0));
  pads[static_cast<std::size_t>(x.rank()) + at] = size(like, axis) - size(x, axis);
  return expr::apply(ops::pad_op, {x, shape_of(pads)}, {{"mode", "constant"}});
}

void pull_dft(Pull& p) {
  if (!p.wanted[0]) return;
  const Expr& x = p.in(0);
  const FourierAttrs attrs = fourier_attrs(p);
  const Expr length = length_of(p, attrs);
  FourierAttrs adjoint = attrs;
  adjoint.inverse = !attrs.inverse;
  Expr result;
  if (attrs.onesided && attrs.inverse)
    result = weighted(transformed(p.g(), length, adjoint), length, attrs.axis, 2);
  else if (attrs.onesided)
    result = transformed(weighted(p.g(), length, attrs.axis, 0.5), length, adjoint);
  else
    result = transformed(p.g(), length, adjoint);
  if (result.error() == nullptr && x.sizes().back() == 1 && result.sizes().back() != 1)
    result = subtensor(result, {Index::ellipsis(), Index::slice(0, 1)});
  p.result[0] = fitted_along(result, x, attrs.axis);
}

}  // namespace

std::span<const RuleRow> fourier_rules() {
  static const RuleRow rows[] = {{&ops::dft_op, pull_dft}};
  return rows;
}

}  // namespace scanloom::autodiff
