// The rules of pools. The cotangent of a maximum goes to the element that was found. The cotangent
// of an average is divided among the window's elements, by a transposed convolution with ones.
#include "expr/apply.h"
#include "grad/rules.h"
#include "grad/windows.h"
#include "ops/ops.h"

namespace scanloom::autodiff {
namespace {

void pull_max_pool(Pull& p) {
  const Expr& x = p.in(0);
  if (!p.g().defined()) return;  // only the indices have readers, and they have no cotangent
  std::vector<tensor::Attr> attrs = p.node->attrs;
  attrs[static_cast<std::size_t>(p.node->op->attr_index("storage_order"))] = std::int64_t{0};
  const Expr found = flatten(expr::apply_attrs(*p.node->op, {x}, std::move(attrs), 2)[1]);
  // A window that holds only padding has found nothing: -1.
  const Expr g = where(found < 0, number(0, x.dtype()), flatten(p.g()));
  const Expr flat = expr::apply(ops::scatter_elements_op, {flatten(zeros_like(x)), found, g},
                                {{"axis", 0}, {"reduction", "add"}});
  p.result[0] = reshape(flat, shape(x));
}

/// Returns how many elements each window along one axis averages over.
Expr counts(const Expr& x, const Expr& y, int i, const WindowAxis& axis, bool with_padding) {
  const Expr in = size(x, i), begin = with_padding ? -axis.before : expr::integer(0);
  const Expr end = with_padding ? in + axis.after : in;
  const Expr first = arange(0, size(y, i)) * axis.stride - axis.before;
  const Expr taps = arange(0, axis.kernel) * axis.dilation;
  const Expr at = expand_dims(first, {1}) + expand_dims(taps, {0});
  return sum(cast((at >= begin) & (at < end), x.dtype()), {1});
}

void pull_average_pool(Pull& p) {
  const Expr& x = p.in(0);
  const tensor::Attr& kernel = p.attr("kernel");
  std::vector<Expr> kernels;
  for (const std::int64_t k : kernel.integers()) kernels.push_back(expr::integer(k));
  const std::vector<WindowAxis> axes = window_axes(p, kernels);
  const bool with_padding = p.attr("count_include_pad").integer() != 0;
  Expr g = p.g();
  Axes strides, dilations, ones{1, 1};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int axis = static_cast<int>(i) + 2;
    Axes others;
    for (int k = 0; k < x.rank(); ++k)
      if (k != axis) others.push_back(k);
    g = g / expand_dims(counts(x, p.out(), axis, axes[i], with_padding), others);
    strides.push_back(axes[i].stride);
    dilations.push_back(axes[i].dilation);
    ones.push_back(kernel.integers()[i]);
  }
  // Each channel as an image of one channel.
  const auto as_images = [](const Expr& of) {
    std::vector<Expr> sizes{size(of, 0) * size(of, 1), expr::integer(1)};
    for (int i = 2; i < of.rank(); ++i) sizes.push_back(size(of, i));
    return reshape(of, sizes);
  };
  const Expr spread = expr::apply(ops::conv_transpose_op,
                                  {as_images(g), full(expr::integers(ones), number(1, x.dtype()))},
                                  {{"strides", strides}, {"dilations", dilations}});
  p.result[0] = reshape(unpadded(spread, axes, as_images(x)), shape(x));
}

}  // namespace

std::span<const RuleRow> pool_rules() {
  static const RuleRow rows[] = {{&ops::max_pool_op, pull_max_pool},
                                 {&ops::average_pool_op, pull_average_pool}};
  return rows;
}

}  // namespace scanloom::autodiff
