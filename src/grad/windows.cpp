#include "grad/windows.h"

#include <algorithm>

#include "expr/apply.h"
#include "ops/ops.h"

namespace scanloom::autodiff {
namespace {

/// Pads the axes after the first two with zeros at both ends; negative numbers remove elements.
Expr with_zeros(const Expr& x, const std::vector<Expr>& before, const std::vector<Expr>& after) {
  std::vector<Expr> pads(2, expr::integer(0));
  pads.insert(pads.end(), before.begin(), before.end());
  pads.insert(pads.end(), 2, expr::integer(0));
  pads.insert(pads.end(), after.begin(), after.end());
  return expr::apply(ops::pad_op, {x, shape_of(pads)}, {{"mode", "constant"}});
}

std::int64_t at_or(const tensor::Attr& attr, std::size_t i, std::int64_t otherwise) {
  return attr.present() ? attr.integers()[i] : otherwise;
}

}  // namespace

std::vector<WindowAxis> window_axes(const Pull& p, const std::vector<Expr>& kernels) {
  const tensor::Attr &pads = p.attr("pads"), &auto_pad = p.attr("auto_pad");
  const std::string how = auto_pad.present() ? auto_pad.text() : "explicit";
  std::vector<WindowAxis> axes;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    WindowAxis axis{.kernel = kernels[i],
                    .stride = at_or(p.attr("strides"), i, 1),
                    .dilation = at_or(p.attr("dilations"), i, 1),
                    .before = expr::integer(0),
                    .after = expr::integer(0)};
    if (how == "explicit") {
      axis.before = expr::integer(at_or(pads, i, 0));
      axis.after = expr::integer(at_or(pads, i + kernels.size(), 0));
    } else if (how != "valid") {
      const Expr in = size(p.in(0), static_cast<int>(i) + 2);
      const Expr windows = floor_divide(in + (axis.stride - 1), axis.stride);
      const Expr reach = (windows - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1;
      const Expr all = maximum(reach - in, expr::integer(0));
      const Expr less = floor_divide(all, expr::integer(2));
      axis.before = how == "same_upper" ? less : all - less;
      axis.after = all - axis.before;
    }
    axes.push_back(std::move(axis));
  }
  return axes;
}

bool has_padding(const std::vector<WindowAxis>& axes) {
  const auto is_zero = [](const Expr& x) {
    const auto known = expr::constant_integers(x);
    return known && (*known)[0] == 0;
  };
  return !std::ranges::all_of(
      axes, [&](const WindowAxis& axis) { return is_zero(axis.before) && is_zero(axis.after); });
}

Expr padded(const Expr& x, const std::vector<WindowAxis>& axes) {
  if (!has_padding(axes)) return x;
  std::vector<Expr> before, after;
  for (const WindowAxis& axis : axes) {
    before.push_back(axis.before);
    after.push_back(axis.after);
  }
  return with_zeros(x, before, after);
}

Expr unpadded(const Expr& y, const std::vector<WindowAxis>& axes, const Expr& x) {
  std::vector<Index> items(2, Index::all());
  std::vector<Expr> before, missing;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Expr first = axes[i].before, in = size(x, static_cast<int>(i) + 2);
    items.push_back(Index::slice(first, first + in));
  }
  const Expr part = subtensor(y, items);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<int>(i) + 2;
    before.push_back(expr::integer(0));
    missing.push_back(size(x, axis) - size(part, axis));
  }
  Expr whole = with_zeros(part, before, missing);
  if (whole.error() == nullptr) whole.node()->outputs[0] = expr::type_of(x);
  return whole;
}

}  // namespace scanloom::autodiff
