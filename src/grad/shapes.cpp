// Rules of operators that rearrange elements.
#include <algorithm>
#include <numeric>
#include <utility>

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

/// Elements of x in other positions, some several times: applying the operator to their numbers
/// shows which.
Expr pulled_from_copies(const Pull& p) {
  const Expr& x = p.in(0);
  std::vector<Expr> operands = p.node->inputs;
  operands[0] = reshape(arange(0, size(flatten(x), 0)), shape(x));
  const Expr numbers = expr::apply_attrs(*p.node->op, operands, p.node->attrs, 1)[0];
  const Expr flat = expr::apply(ops::scatter_elements_op,
                                {flatten(zeros_like(x)), flatten(numbers), flatten(p.g())},
                                {{"axis", 0}, {"reduction", "add"}});
  return reshape(flat, shape(x));
}

void pull_tile(Pull& p) { p.result[0] = pulled_from_copies(p); }

/// Reversing parts a second time undoes it.
void pull_reverse_sequence(Pull& p) {
  p.result[0] = expr::apply_attrs(*p.node->op, {p.g(), p.in(1)}, p.node->attrs, 1)[0];
}

/// For constant padding the added elements are dropped again.
void pull_pad(Pull& p) {
  if (p.attr("mode").text() != "constant") {
    p.result[0] = pulled_from_copies(p);
    return;
  }
  std::vector<Expr> operands = p.node->inputs;
  operands[0] = p.g();
  operands[1] = -cast(p.in(1), DType::i64);
  if (operands.size() > 2) operands[2] = Expr();
  const Expr inner = expr::apply(ops::pad_op, std::move(operands), {{"mode", "constant"}});
  p.result[0] = inner;
  if (p.wanted.size() > 2 && p.wanted[2])
    p.result[2] = reshape(sum(p.g()) - sum(inner), shape(p.in(2)));
}

}  // namespace

Expr with_axes_swapped(const Expr& x, std::int64_t a, std::int64_t b) {
  if (x.error() != nullptr) return x;
  Axes order(static_cast<std::size_t>(x.rank()));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<std::size_t>(a)], order[static_cast<std::size_t>(b)]);
  return dimshuffle(x, order);
}

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
      {&ops::tile_op, pull_tile},
      {&ops::reverse_sequence_op, pull_reverse_sequence},
      {.op = &ops::constant_of_shape_op, .rule = nullptr, .constant = true},
      {.op = &ops::shape_op, .rule = nullptr, .constant = true},
      {.op = &ops::dim_op, .rule = nullptr, .constant = true},
      {.op = &ops::size_op, .rule = nullptr, .constant = true},
  };
  return rows;
}

}  // namespace scanloom::autodiff
