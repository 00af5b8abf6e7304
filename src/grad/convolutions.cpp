// The rules of convolutions over two axes and of their transposes, each in terms of the other. The
// cotangent of the filters is a convolution of the data with the cotangent, batch and channels
// exchanged, in which strides and dilations change places.
#include <algorithm>

#include "expr/apply.h"
#include "grad/rules.h"
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

Expr transposed(const Expr& x, const Expr& w, const Axes& strides, const Axes& dilations) {
  return expr::apply(ops::conv_transpose_op, {x, w},
                     {{"strides", strides}, {"dilations", dilations}});
}

Expr exchanged(const Expr& x) { return dimshuffle(x, {1, 0, 2, 3}); }

/// y, which is at most as large, in front of zeros to the sizes of x.
Expr extended(const Expr& y, const Expr& x) {
  const std::vector<Index> front{Index::all(), Index::all(), Index::slice({}, size(y, 2)),
                                 Index::slice({}, size(y, 3))};
  return set_subtensor(subtensor(zeros_like(x), front), y);
}

/// The part of y that has the sizes of x.
Expr cut(const Expr& y, const Expr& x) {
  return subtensor(
      y, {Index::all(), Index::all(), Index::slice({}, size(x, 2)), Index::slice({}, size(x, 3))});
}

void pull_conv(Pull& p) {
  if (!is_plain(p)) {
    p.result[0] = expr::failed(
        fail(Code::unsupported, "the gradient of a convolution with pads, groups or a bias"));
    return;
  }
  const Axes strides = axes_of(p.attr("strides")), dilations = axes_of(p.attr("dilations"));
  const Expr &x = p.in(0), &w = p.in(1), &g = p.g();
  if (p.wanted[0]) p.result[0] = extended(transposed(g, w, strides, dilations), x);
  if (p.wanted[1])
    p.result[1] = cut(exchanged(conv2d(exchanged(x), exchanged(g), dilations, strides)), w);
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
