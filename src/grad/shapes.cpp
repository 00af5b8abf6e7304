// Rules of operators that arrange elements anew.
#include <algorithm>

#include "expr/apply.h"
#include "grad/rules.h"
#include "ops/ops.h"

namespace scanloom::autodiff {
namespace {

void pull_reshape(Pull& p) { p.result[0] = reshape(p.g(), shape(p.in(0))); }

void pull_transpose(Pull& p) {
  const tensor::Attr& perm = p.attr("perm");
  if (!perm.present()) {
    p.result[0] = transpose(p.g());
    return;
  }
  Axes back(perm.integers().size());
  for (std::size_t i = 0; i < back.size(); ++i)
    back[static_cast<std::size_t>(perm.integers()[i])] = static_cast<std::int64_t>(i);
  p.result[0] = dimshuffle(p.g(), back);
}

void pull_expand(Pull& p) { p.result[0] = sum_to(p.g(), shape(p.in(0))); }
void pull_sum_to(Pull& p) { p.result[0] = broadcast_to(p.g(), shape(p.in(0))); }

void pull_concat(Pull& p) {
  const std::int64_t axis = p.attr("axis").integer();
  const std::int64_t normal = axis < 0 ? axis + p.g().rank() : axis;
  Expr start = expr::integer(0);
  for (std::size_t i = 0; i < p.node->inputs.size(); ++i) {
    const Expr stop = start + size(p.in(i), static_cast<int>(normal));
    std::vector<Index> items(static_cast<std::size_t>(normal), Index::all());
    items.push_back(Index::slice(start, stop));
    if (p.wanted[i]) p.result[i] = subtensor(p.g(), items);
    start = stop;
  }
}

void pull_split(Pull& p) {
  std::vector<Expr> parts;
  for (std::uint32_t i = 0; i < p.node->outputs.size(); ++i)
    parts.push_back(p.g(i).defined() ? p.g(i) : zeros_like(p.out(i)));
  p.result[0] = concatenate(parts, static_cast<int>(p.attr("axis").integer()));
}

/// Only of constant padding; what was added is dropped again.
void pull_pad(Pull& p) {
  if (p.attr("mode").text() != "constant" || (p.node->inputs.size() > 3 && p.in(3).defined())) {
    p.result[0] = expr::failed(
        fail(Code::unsupported, "the gradient of padding by other elements than a constant"));
    return;
  }
  if (p.wanted.size() > 2 && p.wanted[2])
    p.result[2] = expr::failed(fail(Code::unsupported, "the gradient by the value of a padding"));
  p.result[0] =
      expr::apply(ops::pad_op, {p.g(), -cast(p.in(1), DType::i64)}, {{"mode", "constant"}});
}

}  // namespace

std::span<const RuleRow> shape_rules() {
  static const RuleRow rows[] = {
      {&ops::reshape_op, pull_reshape},
      {&ops::flatten_op, pull_reshape},
      {&ops::squeeze_op, pull_reshape},
      {&ops::unsqueeze_op, pull_reshape},
      {&ops::transpose_op, pull_transpose},
      {&ops::expand_op, pull_expand},
      {&ops::sum_to_op, pull_sum_to},
      {&ops::concat_op, pull_concat},
      {&ops::split_op, pull_split},
      {&ops::pad_op, pull_pad},
      {.op = &ops::constant_of_shape_op, .rule = nullptr, .constant = true},
      {.op = &ops::shape_op, .rule = nullptr, .constant = true},
      {.op = &ops::dim_op, .rule = nullptr, .constant = true},
      {.op = &ops::size_op, .rule = nullptr, .constant = true},
  };
  return rows;
}

}  // namespace scanloom::autodiff
