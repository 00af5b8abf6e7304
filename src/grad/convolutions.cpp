// The rules of convolutions and of their transposes, each in terms of the other. The cotangent of
// the filters is a convolution of the data with the cotangent: batch and channels are exchanged,
// and strides and dilations swap roles.
#include <algorithm>

#include "expr/apply.h"
#include "grad/rules.h"
#include "grad/windows.h"
#include "ops/ops.h"

namespace scanloom::autodiff {
namespace {

using tensor::Attr;

Expr exchanged(const Expr& x) { return with_axes_swapped(x, 0, 1); }

/// Returns the part of y that has the sizes of x.
Expr cut(const Expr& y, const Expr& x) {
  std::vector<Index> items(2, Index::all());
  for (int i = 2; i < x.rank(); ++i) items.push_back(Index::slice({}, size(x, i)));
  Expr part = subtensor(y, items);
  if (part.error() == nullptr) part.node()->outputs[0] = expr::type_of(x);
  return part;
}

/// Turns [b, groups * c, ...] into [c, groups * b, ...].
Expr exchanged_by_group(const Expr& x, std::int64_t groups) {
  if (groups == 1) return exchanged(x);
  std::vector<Expr> apart{size(x, 0), Expr(groups),
                          floor_divide(size(x, 1), expr::integer(groups))};
  std::vector<Expr> together{apart[2], apart[1] * apart[0]};
  Axes order{2, 1, 0};
  for (int i = 2; i < x.rank(); ++i) {
    apart.push_back(size(x, i));
    together.push_back(apart.back());
    order.push_back(i + 1);
  }
  return reshape(dimshuffle(reshape(x, apart), order), together);
}

/// What both rules need: strides and dilations by axis, groups.
struct Steps {
  std::vector<WindowAxis> axes;
  Axes strides, dilations;
  std::int64_t groups = 1;
};

Steps steps_of(const Pull& p) {
  Steps steps;
  std::vector<Expr> kernels;
  for (int i = 2; i < p.in(1).rank(); ++i) kernels.push_back(size(p.in(1), i));
  steps.axes = window_axes(p, kernels);
  for (const WindowAxis& axis : steps.axes) {
    steps.strides.push_back(axis.stride);
    steps.dilations.push_back(axis.dilation);
  }
  if (p.attr("group").present()) steps.groups = p.attr("group").integer();
  return steps;
}

/// Returns the cotangent of filters that map the padded data x to where g is: a convolution in the
/// same groups, with the channels of each as batch and the batch as channels.
Expr of_filters(const Expr& x, const Expr& g, const Expr& w, const Steps& steps) {
  const Expr sums = expr::apply(
      ops::conv_op, {exchanged_by_group(x, steps.groups), exchanged(g)},
      {{"strides", steps.dilations}, {"dilations", steps.strides}, {"group", steps.groups}});
  return cut(exchanged(sums), w);
}

void pull_bias(Pull& p) {
  if (p.wanted.size() <= 2 || !p.wanted[2]) return;
  Axes others{0};
  for (std::int64_t i = 2; i < p.g().rank(); ++i) others.push_back(i);
  p.result[2] = sum(p.g(), others);
}

void pull_conv(Pull& p) {
  const Expr &x = p.in(0), &w = p.in(1), &g = p.g();
  const Steps steps = steps_of(p);
  if (p.wanted[0]) {
    const Expr spread = expr::apply(
        ops::conv_transpose_op, {g, w},
        {{"strides", steps.strides}, {"dilations", steps.dilations}, {"group", steps.groups}});
    p.result[0] = unpadded(spread, steps.axes, x);
  }
  if (p.wanted[1]) p.result[1] = of_filters(padded(x, steps.axes), g, w, steps);
  pull_bias(p);
}

/// The pads of a transposed convolution crop its result; their cotangent is zero.
void pull_transposed(Pull& p) {
  const Attr& how = p.attr("auto_pad");
  const bool given = !how.present() || how.text() == "explicit" || how.text() == "valid";
  if (!given || p.attr("output_shape").present()) {
    p.result[0] = expr::failed(
        fail(Code::unsupported,
             "the gradient of a transposed convolution whose pads follow from its sizes"));
    return;
  }
  const Expr &x = p.in(0), &w = p.in(1);
  Steps steps = steps_of(p);
  for (std::size_t i = 0; i < steps.axes.size(); ++i) {
    WindowAxis& axis = steps.axes[i];
    const int at = static_cast<int>(i) + 2;
    const Expr whole = (size(x, at) - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1;
    axis.after = whole - axis.before - size(p.out(), at);  // which output_padding may make negative
  }
  const Expr g = padded(p.g(), steps.axes);
  if (p.wanted[0]) {
    Expr gathered = expr::apply(
        ops::conv_op, {g, w},
        {{"strides", steps.strides}, {"dilations", steps.dilations}, {"group", steps.groups}});
    if (gathered.error() == nullptr) gathered.node()->outputs[0] = expr::type_of(x);
    p.result[0] = gathered;
  }
  if (p.wanted[1]) p.result[1] = of_filters(g, x, w, steps);
  pull_bias(p);
}

}  // namespace

std::span<const RuleRow> convolution_rules() {
  static const RuleRow rows[] = {{&ops::conv_op, pull_conv},
                                 {&ops::conv_transpose_op, pull_transposed}};
  return rows;
}

}  // namespace scanloom::autodiff
