// Rules of slices, gathers and scatters.
#include <algorithm>

#include "expr/apply.h"
#include "grad/rules.h"
#include "ops/ops.h"

namespace scanloom::autodiff {
namespace {

using Sizes = std::vector<std::int64_t>;

/// What the operands of a slice say, by axis that it slices; nullopt where it is computed.
struct SlicedAxes {
  Sizes axes, steps;
};

std::optional<SlicedAxes> sliced_axes(const Pull& p) {
  SlicedAxes sliced;
  const auto count = p.in(1).sizes()[0];
  const auto constant = [&](std::size_t i) -> std::optional<Sizes> {
    if (i < p.node->inputs.size() && p.in(i).defined()) return expr::constant_integers(p.in(i));
    Sizes own;
    for (std::int64_t k = 0; k < count; ++k) own.push_back(i == 3 ? k : 1);
    return own;
  };
  const auto axes = constant(3), steps = constant(4);
  if (!axes || !steps) return std::nullopt;
  for (const std::int64_t axis : *axes)
    sliced.axes.push_back(axis < 0 ? axis + p.in(0).rank() : axis);
  sliced.steps = *steps;
  return sliced;
}

/// One slice along an axis with step 1 or -1: g between as many zeros as the slice leaves out.
void pad_one(const Pull& p, const SlicedAxes& sliced, std::size_t i, Expr& g,
             std::vector<Expr>& begins, std::vector<Expr>& ends) {
  const auto axis = static_cast<int>(sliced.axes[i]);
  const Expr whole = size(p.in(0), axis), part = size(p.out(), axis);
  const auto element = [&](std::size_t operand) {
    const auto known = expr::constant_integers(p.in(operand));
    if (known) return expr::integer((*known)[i]);
    return cast(p.in(operand)[Expr(static_cast<std::int64_t>(i))], DType::i64);
  };
  const Expr given = element(1);
  const Expr zero = expr::integer(0);
  const auto known = expr::constant_integers(given);
  Expr start = given;
  if (!known) start = where(given < zero, given + whole, given);
  if (known && (*known)[0] < 0) start = given + whole;
  if (sliced.steps[i] == 1) {
    begins[static_cast<std::size_t>(axis)] = minimum(maximum(start, zero), whole);
    if (known && (*known)[0] == 0) begins[static_cast<std::size_t>(axis)] = zero;
  } else {
    std::vector<Index> items(static_cast<std::size_t>(axis), Index::all());
    items.push_back(Index::slice({}, {}, -1));
    g = subtensor(g, items);
    // From `start`, which may be beyond the end, downwards.
    begins[static_cast<std::size_t>(axis)] = maximum(minimum(start, whole - 1) + 1 - part, zero);
  }
  ends[static_cast<std::size_t>(axis)] = whole - begins[static_cast<std::size_t>(axis)] - part;
}

/// Any steps: the numbers of the elements that were picked say where g goes.
Expr scattered(const Pull& p) {
  const Expr& x = p.in(0);
  const Expr flat = reshape(arange(0, size(flatten(x), 0)), shape(x));
  std::vector<Expr> operands = p.node->inputs;
  operands[0] = flat;
  const Expr picked = flatten(expr::apply_attrs(*p.node->op, operands, p.node->attrs, 1)[0]);
  const Expr written =
      expr::apply(ops::scatter_elements_op, {flatten(zeros_like(x)), picked, flatten(p.g())},
                  {{"axis", 0}, {"reduction", "add"}});
  return reshape(written, shape(x));
}

void pull_slice(Pull& p) {
  const auto sliced = sliced_axes(p);
  const bool unit = sliced && std::ranges::all_of(sliced->steps, [](std::int64_t step) {
                      return step == 1 || step == -1;
                    });
  if (!unit) {
    p.result[0] = scattered(p);
    return;
  }
  const auto rank = static_cast<std::size_t>(p.in(0).rank());
  std::vector<Expr> begins(rank, expr::integer(0)), ends(rank, expr::integer(0));
  Expr g = p.g();
  for (std::size_t i = 0; i < sliced->axes.size(); ++i) pad_one(p, *sliced, i, g, begins, ends);
  begins.insert(begins.end(), ends.begin(), ends.end());
  Expr padded = expr::apply(ops::pad_op, {g, shape_of(begins)}, {{"mode", "constant"}});
  if (padded.error() == nullptr) padded.node()->outputs[0] = expr::type_of(p.in(0));
  p.result[0] = padded;
}

void pull_gather(Pull& p) {
  const Expr &x = p.in(0), &indices = p.in(1);
  const std::int64_t given = p.attr("axis").integer();
  const std::int64_t axis = given < 0 ? given + x.rank() : given;
  // The axes of the indices and, of x, the one they pick from, to the front.
  Axes of_g, of_x{axis}, back;
  for (std::int64_t i = 0; i < indices.rank(); ++i) of_g.push_back(axis + i);
  for (std::int64_t i = 0; i < p.g().rank(); ++i)
    if (i < axis || i >= axis + indices.rank()) of_g.push_back(i);
  for (std::int64_t i = 0; i < x.rank(); ++i)
    if (i != axis) of_x.push_back(i);
  for (std::int64_t i = 0; i < x.rank(); ++i)
    back.push_back(std::ranges::find(of_x, i) - of_x.begin());
  const Expr tuples = expand_dims(cast(indices, DType::i64), {indices.rank()});
  const Expr written = expr::apply(
      ops::scatter_nd_op, {zeros_like(dimshuffle(x, of_x)), tuples, dimshuffle(p.g(), of_g)},
      {{"reduction", "add"}});
  p.result[0] = dimshuffle(written, back);
}

void pull_gather_nd(Pull& p) {
  if (p.attr("batch_dims").integer() != 0) {
    p.result[0] =
        expr::failed(fail(Code::unsupported, "the gradient of gather_nd with batch_dims"));
    return;
  }
  p.result[0] = expr::apply(ops::scatter_nd_op, {zeros_like(p.in(0)), p.in(1), p.g()},
                            {{"reduction", "add"}});
}

void pull_gather_elements(Pull& p) {
  p.result[0] = expr::apply(ops::scatter_elements_op, {zeros_like(p.in(0)), p.in(1), p.g()},
                            {{"axis", p.attr("axis")}, {"reduction", "add"}});
}

bool is_supported_scatter(Pull& p) {
  const std::string& reduction = p.attr("reduction").text();
  if (reduction == "none" || reduction == "add") return true;
  p.result[0] = expr::failed(
      fail(Code::unsupported, "the gradient of a scatter that takes the {}", reduction));
  return false;
}

/// Of what was written over nothing is left. Where one element is written several times, each
/// update gets its cotangent, although only the last one counts: as in Theano, indices that repeat
/// belong to increment_subtensor.
void pull_scatter_nd(Pull& p) {
  if (!is_supported_scatter(p)) return;
  const bool over = p.attr("reduction").text() == "none";
  const Expr picked = expr::apply(ops::gather_nd_op, {p.g(), p.in(1)}, {{"batch_dims", 0}});
  // Zeros like what is picked, not like the updates: a loop back would keep these for each step.
  if (p.wanted[0])
    p.result[0] = over ? expr::apply(ops::scatter_nd_op, {p.g(), p.in(1), zeros_like(picked)},
                                     {{"reduction", "none"}})
                       : p.g();
  if (p.wanted[2]) p.result[2] = picked;
}

void pull_scatter_elements(Pull& p) {
  if (!is_supported_scatter(p)) return;
  const bool over = p.attr("reduction").text() == "none";
  if (p.wanted[0])
    p.result[0] = over
                      ? expr::apply(ops::scatter_elements_op, {p.g(), p.in(1), zeros_like(p.in(2))},
                                    {{"axis", p.attr("axis")}, {"reduction", "none"}})
                      : p.g();
  if (p.wanted[2])
    p.result[2] =
        expr::apply(ops::gather_elements_op, {p.g(), p.in(1)}, {{"axis", p.attr("axis")}});
}

/// Whether updates are added to nothing but zeros.
bool is_sparse(const Expr& x) {
  const expr::Node& node = *x.node();
  if (node.op != &ops::scatter_nd_op || node.attrs[0].text() != "add") return false;
  const expr::Node& to = *node.inputs[0].node();
  if (to.op != &ops::constant_of_shape_op) return false;
  const tensor::Tensor& value = to.attrs[0].tensor();
  const auto* const bytes = static_cast<const std::byte*>(value.data());
  return std::all_of(bytes, bytes + dtype_bytes(value.dtype()),
                     [](std::byte byte) { return byte == std::byte{0}; });
}

}  // namespace

Expr added(const Expr& a, const Expr& b) {
  for (const auto& [sum, part] : {std::pair(a, b), std::pair(b, a)}) {
    if (part.error() != nullptr || !is_sparse(part)) continue;
    const std::vector<Expr>& operands = part.node()->inputs;
    return expr::apply(ops::scatter_nd_op, {sum, operands[1], operands[2]}, {{"reduction", "add"}});
  }
  return a + b;
}

std::span<const RuleRow> index_rules() {
  static const RuleRow rows[] = {
      {&ops::slice_op, pull_slice},           {&ops::gather_op, pull_gather},
      {&ops::gather_nd_op, pull_gather_nd},   {&ops::gather_elements_op, pull_gather_elements},
      {&ops::scatter_nd_op, pull_scatter_nd}, {&ops::scatter_elements_op, pull_scatter_elements},
  };
  return rows;
}

}  // namespace scanloom::autodiff
