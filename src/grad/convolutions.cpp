// The rules of convolutions and of their transposes, each in terms of the other. The
// cotangent of the filters is a convolution of the data with the cotangent, batch and channels
// exchanged, in which strides and dilations change places.
#include <algorithm>

#include "expr/apply.h"
#include "grad/rules.h"
#include "grad/windows.h"
#include "ops/ops.h"

namespace scanloom::autodiff {
namespace {

using tensor::Attr;

/// Whether only strides and dilations are given: what conv2d makes.
bool is_plain(const Pull& p) {
  const Attr &pads = p.attr("pads"), &group = p.attr("group"), &auto_pad = p.attr("auto_pad");
  const bool padded =
      pads.present() && std::ranges::any_of(pads.integers(), [](auto pad) { return pad != 0; });
  return p.in(0).rank() == 4 && p.node->inputs.size() <= 2 && !padded &&
         (!group.present() || group.integer() == 1) &&
         (!auto_pad.present() || auto_pad.text() == "explicit");
}

Axes axes_of(const Attr& attr) { return attr.present() ? attr.integers() : Axes{1, 1}; }

Expr exchanged(const Expr& x) {
  Axes order{1, 0};
  for (std::int64_t i = 2; i < x.rank(); ++i) order.push_back(i);
  return dimshuffle(x, order);
}

/// The part of y that has the sizes of x.
Expr cut(const Expr& y, const Expr& x) {
  std::vector<Index> items(2, Index::all());
  for (int i = 2; i < x.rank(); ++i) items.push_back(Index::slice({}, size(x, i)));
  Expr part = subtensor(y, items);
  if (part.error() == nullptr) part.node()->outputs[0] = expr::type_of(x);
  return part;
}

/// [b, groups * c, ...] as [c, groups * b, ...].
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

/// Of data that are padded for themselves, in groups of channels. The cotangent of the filters is a
/// convolution in the same groups: each takes its channels as a batch and the batch as channels.
void pull_conv(Pull& p) {
  const Expr &x = p.in(0), &w = p.in(1), &g = p.g();
  std::vector<Expr> kernels;
  Axes strides, dilations;
  for (int i = 2; i < x.rank(); ++i) kernels.push_back(size(w, i));
  const std::vector<WindowAxis> axes = window_axes(p, kernels);
  for (const WindowAxis& axis : axes) {
    strides.push_back(axis.stride);
    dilations.push_back(axis.dilation);
  }
  const Attr& group = p.attr("group");
  const std::int64_t groups = group.present() ? group.integer() : 1;
  if (p.wanted[0]) {
    const Expr spread =
        expr::apply(ops::conv_transpose_op, {g, w},
                    {{"strides", strides}, {"dilations", dilations}, {"group", groups}});
    p.result[0] = unpadded(spread, axes, x);
  }
  if (p.wanted[1]) {
    const Expr sums =
        expr::apply(ops::conv_op, {exchanged_by_group(padded(x, axes), groups), exchanged(g)},
                    {{"strides", dilations}, {"dilations", strides}, {"group", groups}});
    p.result[1] = cut(exchanged(sums), w);
  }
  if (p.wanted.size() > 2 && p.wanted[2]) {
    Axes others{0};
    for (std::int64_t i = 2; i < g.rank(); ++i) others.push_back(i);
    p.result[2] = sum(g, others);
  }
}

void pull_transposed(Pull& p) {
  if (!is_plain(p) || p.attr("output_padding").present() || p.attr("output_shape").present()) {
    p.result[0] = expr::failed(
        fail(Code::unsupported, "the gradient of a transposed convolution with pads or groups"));
    return;
  }
  const Axes strides = axes_of(p.attr("strides")), dilations = axes_of(p.attr("dilations"));
  const Expr &x = p.in(0), &w = p.in(1), &g = p.g();
  if (p.wanted[0]) p.result[0] = conv2d(g, w, strides, dilations);
  if (p.wanted[1]) p.result[1] = exchanged(conv2d(exchanged(g), exchanged(x), dilations, strides));
}

}  // namespace

std::span<const RuleRow> convolution_rules() {
  static const RuleRow rows[] = {{&ops::conv_op, pull_conv},
                                 {&ops::conv_transpose_op, pull_transposed}};
  return rows;
}

}  // namespace scanloom::autodiff
