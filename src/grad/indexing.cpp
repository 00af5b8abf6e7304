// Rules of slices, gathers and scatters.
#include <algorithm>

#include "expr/apply.h"
#include "grad/rules.h"
#include "ops/ops.h"

namespace scanloom::autodiff {
namespace {

using Sizes = std::vector<std::int64_t>;

/// Where scatter_slice writes: its operands and attributes except data, updates and reduction.
struct Window {
  Expr indices, starts, ends, steps;  ///< undefined if absent
  Sizes axes, picked;
};

Expr written(const Expr& data, const Expr& updates, const Window& window,
             std::string_view reduction) {
  return expr::apply(
      ops::scatter_slice_op,
      {data, updates, window.indices, window.starts, window.ends, window.steps},
      {{"axes", window.axes}, {"picked", window.picked}, {"reduction", std::string(reduction)}});
}

/// Returns the part of x in the window.
Expr read(const Expr& x, const Window& window) {
  Axes order = window.picked;
  Sizes position(
      static_cast<std::size_t>(x.rank()));  // of each axis of x, once the picked are first
  for (std::int64_t axis = 0; axis < x.rank(); ++axis)
    if (std::ranges::find(window.picked, axis) == window.picked.end()) order.push_back(axis);
  for (std::size_t i = 0; i < order.size(); ++i)
    position[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  Expr part = std::ranges::is_sorted(order) ? x : dimshuffle(x, order);
  if (!window.axes.empty()) {
    Sizes axes;
    for (const std::int64_t axis : window.axes)
      axes.push_back(position[static_cast<std::size_t>(axis)]);
    part = expr::apply(ops::slice_op,
                       {part, window.starts, window.ends, expr::integers(axes), window.steps});
  }
  if (window.picked.empty()) return part;
  return expr::apply(ops::gather_nd_op, {part, window.indices}, {{"batch_dims", 0}});
}

Window window_of(const expr::Node& node) {
  const auto operand = [&](std::size_t i) {
    return i < node.inputs.size() ? node.inputs[i] : Expr();
  };
  return {operand(2),
          operand(3),
          operand(4),
          operand(5),
          node.attrs[0].integers(),
          node.attrs[1].integers()};
}

bool are_zeros(const Expr& x) {
  const expr::Node& node = *x.node();
  if (node.op != &ops::constant_of_shape_op) return false;
  const tensor::Tensor& value = node.attrs[0].tensor();
  const auto* const bytes = static_cast<const std::byte*>(value.data());
  return std::all_of(bytes, bytes + dtype_bytes(value.dtype()),
                     [](std::byte byte) { return byte == std::byte{0}; });
}

/// Whether x adds updates to zeros.
bool is_sparse(const Expr& x) {
  const expr::Node& node = *x.node();
  const bool adds = (node.op == &ops::scatter_nd_op && node.attrs[0].text() == "add") ||
                    (node.op == &ops::scatter_slice_op && node.attrs[2].text() == "add");
  return adds && are_zeros(node.inputs[0]);
}

/// An addition to zeros within one window.
struct SparseWindow {
  Expr updates;
  Window window;
};

std::optional<SparseWindow> sparse_window(const Expr& x) {
  if (x.error() != nullptr || !is_sparse(x)) return std::nullopt;
  const expr::Node& node = *x.node();
  if (node.op == &ops::scatter_slice_op) return SparseWindow{node.inputs[1], window_of(node)};
  const Expr& tuple = node.inputs[1];  // of the first axes
  if (tuple.rank() != 1 || tuple.sizes()[0] < 1) return std::nullopt;
  SparseWindow found{node.inputs[2], {}};
  found.window.indices = tuple;
  for (std::int64_t axis = 0; axis < tuple.sizes()[0]; ++axis) found.window.picked.push_back(axis);
  return found;
}

/// The axes and steps of a slice, by sliced axis; nullopt if they are computed at run time.
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

/// One slice along an axis with step 1 or -1: g padded with as many zeros as the slice leaves out.
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
    // Downwards from `start`, which may be beyond the end.
    begins[static_cast<std::size_t>(axis)] = maximum(minimum(start, whole - 1) + 1 - part, zero);
  }
  ends[static_cast<std::size_t>(axis)] = whole - begins[static_cast<std::size_t>(axis)] - part;
}

/// For any axes: the numbers of the picked elements say where g goes.
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

/// Pads g with as many zeros as the slice leaves out. The surrounding nodes can compute these along
/// with their own elements.
Expr padded_slice(const Pull& p, const SlicedAxes& sliced) {
  const auto rank = static_cast<std::size_t>(p.in(0).rank());
  std::vector<Expr> begins(rank, expr::integer(0)), ends(rank, expr::integer(0));
  Expr g = p.g();
  for (std::size_t i = 0; i < sliced.axes.size(); ++i) pad_one(p, sliced, i, g, begins, ends);
  begins.insert(begins.end(), ends.begin(), ends.end());
  Expr padded = expr::apply(ops::pad_op, {g, shape_of(begins)}, {{"mode", "constant"}});
  if (padded.error() == nullptr) padded.node()->outputs[0] = expr::type_of(p.in(0));
  return padded;
}

void pull_slice(Pull& p) {
  const auto sliced = sliced_axes(p);
  if (!sliced) {
    p.result[0] = scattered(p);
    return;
  }
  const auto operand = [&](std::size_t i) { return i < p.node->inputs.size() ? p.in(i) : Expr(); };
  Window window{{}, p.in(1), p.in(2), operand(4), sliced->axes, {}};
  const Expr zeros = zeros_like(p.in(0));
  // For elements picked from the slice: one window, unless that is a slice itself.
  const auto inner = sparse_window(p.g());
  if (inner && inner->window.axes.empty() &&
      std::ranges::none_of(inner->window.picked, [&](std::int64_t axis) {
        return std::ranges::find(sliced->axes, axis) != sliced->axes.end();
      })) {
    window.indices = inner->window.indices;
    window.picked = inner->window.picked;
    p.result[0] = written(zeros, inner->updates, window, "add");
    return;
  }
  const bool unit =
      std::ranges::all_of(sliced->steps, [](std::int64_t step) { return step == 1 || step == -1; });
  const bool constant = expr::constant_integers(p.in(1)) && expr::constant_integers(p.in(2));
  p.result[0] = unit && constant ? padded_slice(p, *sliced) : written(zeros, p.g(), window, "add");
}

/// One index along one axis, which is not the first axis or is picked from further.
bool pull_picked(Pull& p, std::int64_t axis) {
  const Expr &x = p.in(0), &index = p.in(1);
  if (index.rank() != 0) return false;
  auto inner = sparse_window(p.g());
  if (axis == 0 && !inner) return false;
  SparseWindow all{p.g(), {}};
  const auto outer_axis = [&](std::int64_t of_g) { return of_g < axis ? of_g : of_g + 1; };
  std::vector<Expr> indices{cast(index, DType::i64)};
  all.window.picked = {axis};
  if (inner) {
    all.updates = inner->updates;
    all.window.starts = inner->window.starts;
    all.window.ends = inner->window.ends;
    all.window.steps = inner->window.steps;
    for (const std::int64_t each : inner->window.axes) all.window.axes.push_back(outer_axis(each));
    for (const std::int64_t each : inner->window.picked)
      all.window.picked.push_back(outer_axis(each));
    if (inner->window.indices.defined()) indices.push_back(cast(inner->window.indices, DType::i64));
  }
  all.window.indices = shape_of(indices);
  p.result[0] = written(zeros_like(x), all.updates, all.window, "add");
  return true;
}

void pull_gather(Pull& p) {
  const Expr &x = p.in(0), &indices = p.in(1);
  const std::int64_t given = p.attr("axis").integer();
  const std::int64_t axis = given < 0 ? given + x.rank() : given;
  if (pull_picked(p, axis)) return;
  // Moves the axes of the indices, and the axis of x that they pick from, to the front.
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

/// Elements that were overwritten get no cotangent. If one element is written several times, each
/// update gets its cotangent although only the last one counts: as in Theano, repeated indices
/// belong in increment_subtensor.
void pull_scatter_nd(Pull& p) {
  if (!is_supported_scatter(p)) return;
  const bool over = p.attr("reduction").text() == "none";
  const Expr picked = expr::apply(ops::gather_nd_op, {p.g(), p.in(1)}, {{"batch_dims", 0}});
  // Zeros like the picked elements, not like the updates, which a reverse loop would keep for each
  // step.
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

void pull_scatter_slice(Pull& p) {
  if (!is_supported_scatter(p)) return;
  const bool over = p.attr("reduction").text() == "none";
  const Window window = window_of(*p.node);
  if (p.wanted[0])
    p.result[0] = over ? written(p.g(), number(0, p.g().dtype()), window, "none") : p.g();
  if (!p.wanted[1]) return;
  const Expr part = read(p.g(), window);
  const Expr& updates = p.in(1);
  const bool repeated =
      part.error() == nullptr &&
      (!(expr::type_of(part) == expr::type_of(updates)) ||
       std::ranges::any_of(updates.sizes(), [](std::int64_t size) { return size < 0; }));
  p.result[1] = repeated ? sum_to(part, shape(updates)) : part;
}

/// Whether x is an earlier tensor with some elements written, which a loop can do in place.
bool is_update(const Expr& x) {
  const expr::Node& node = *x.node();
  return (node.op == &ops::scatter_nd_op || node.op == &ops::scatter_slice_op ||
          node.op == &ops::scatter_elements_op) &&
         !are_zeros(node.inputs[0]);
}

/// Returns what a pad surrounds with zeros, and where; nullopt if that may be outside.
std::optional<SparseWindow> padded_window(const Expr& x) {
  const expr::Node& node = *x.node();
  if (node.op != &ops::pad_op || node.attrs[0].text() != "constant" || node.inputs.size() != 2)
    return std::nullopt;
  const Expr &part = node.inputs[0], &pads = node.inputs[1];
  const auto rank = static_cast<std::size_t>(x.rank());
  Sizes begins;
  if (const auto known = expr::constant_integers(pads)) {
    begins = *known;
  } else if (pads.node()->op == &ops::concat_op && pads.node()->inputs.size() == 2 * rank) {
    for (std::size_t i = 0; i < rank; ++i) {
      const auto one = expr::constant_integers(pads.node()->inputs[i]);
      if (!one || one->size() != 1) return std::nullopt;
      begins.push_back((*one)[0]);
    }
  }
  if (begins.size() < rank || std::ranges::any_of(begins, [](std::int64_t pad) { return pad < 0; }))
    return std::nullopt;
  SparseWindow found{part, {}};
  std::vector<Expr> ends;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    found.window.axes.push_back(static_cast<std::int64_t>(axis));
    ends.push_back(size(part, static_cast<int>(axis)) + expr::integer(begins[axis]));
  }
  begins.resize(rank);
  found.window.starts = expr::integers(begins);
  found.window.ends = shape_of(ends);
  return found;
}

/// Adds the nonzero elements of `part` to `sum`. Undefined if `part` is not zero elsewhere, or if
/// its elements are better added one by one.
Expr added_in_place(const Expr& sum, const Expr& part) {
  if (part.error() != nullptr || sum.error() != nullptr) return {};
  if (is_sparse(part)) {
    const expr::Node& node = *part.node();
    std::vector<Expr> operands = node.inputs;
    operands[0] = sum;
    return expr::apply_attrs(*node.op, std::move(operands), node.attrs, 1)[0];
  }
  if (!is_update(sum)) return {};
  const auto padded = padded_window(part);
  return padded ? written(sum, padded->updates, padded->window, "add") : Expr();
}

}  // namespace

Expr added(const Expr& a, const Expr& b) {
  for (const auto& [sum, part] : {std::pair(a, b), std::pair(b, a)})
    if (Expr made = added_in_place(sum, part); made.defined()) return made;
  return a + b;
}

std::span<const RuleRow> index_rules() {
  static const RuleRow rows[] = {
      {&ops::slice_op, pull_slice},
      {&ops::gather_op, pull_gather},
      {&ops::gather_nd_op, pull_gather_nd},
      {&ops::gather_elements_op, pull_gather_elements},
      {&ops::scatter_nd_op, pull_scatter_nd},
      {&ops::scatter_elements_op, pull_scatter_elements},
      {&ops::scatter_slice_op, pull_scatter_slice},
  };
  return rows;
}

}  // namespace scanloom::autodiff
