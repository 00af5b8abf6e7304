// Shapes: sizes as values, and the same elements with other sizes.
#include <scanloom/expr.h>

#include <algorithm>
#include <numeric>

#include "expr/apply.h"
#include "expr/types.h"
#include "ops/ops.h"

namespace scanloom {

using expr::apply;
using expr::built_of;
using expr::called;
using expr::describe;
using expr::integers;
using expr::told_as;

namespace {

using Sizes = std::vector<std::int64_t>;

/// Returns what is known of a vector of sizes, by entry; -1: unknown. nullopt: not even its length.
std::optional<Sizes> entries(const Expr& x) {
  if (auto constant = expr::constant_integers(x)) return constant;
  const expr::Node& node = *x.node();
  if (x.rank() == 0) return Sizes{-1};
  if (node.op == &ops::shape_op && !node.attrs[1].present() && node.attrs[0].integer() == 0) {
    const auto sizes = node.inputs[0].sizes();
    return Sizes(sizes.begin(), sizes.end());
  }
  if (node.op == &ops::unsqueeze_op || node.op == &ops::cast_op) return entries(node.inputs[0]);
  if (node.op == &ops::concat_op) {
    Sizes all;
    for (const Expr& part : node.inputs) {
      const auto some = entries(part);
      if (!some) return std::nullopt;
      all.insert(all.end(), some->begin(), some->end());
    }
    return all;
  }
  if (x.sizes()[0] < 0) return std::nullopt;
  return Sizes(static_cast<std::size_t>(x.sizes()[0]), -1);
}

/// Returns the result with the sizes that its wanted shape implies.
Expr refined(Expr x, const Expr& shape) {
  if (x.error() != nullptr) return x;
  const auto known = entries(shape);
  Sizes& sizes = x.node()->outputs[x.output()].sizes;
  if (!known || known->size() != sizes.size()) return x;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] < 0 && (*known)[i] >= 0) sizes[i] = (*known)[i];
  return x;
}

/// "'a', 'b' and 3 more".
std::string list_of(const std::vector<Expr>& parts) {
  constexpr std::size_t kShown = 3;
  const std::size_t shown = parts.size() <= kShown + 1 ? parts.size() : kShown;
  std::string text;
  for (std::size_t i = 0; i < shown; ++i)
    text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + called(parts[i]);
  if (shown < parts.size()) text += " and " + std::to_string(parts.size() - shown) + " more";
  return text;
}

/// A vector of i64. Error: anything other than integers of rank 0 or 1.
Expr as_sizes(const Expr& x) {
  if (!x.defined()) return expr::failed(fail(Code::invalid_argument, "a size is missing"));
  if (x.error() != nullptr) return x;
  if ((!is_integer(x.dtype()) && x.dtype() != DType::boolean) || x.rank() > 1)
    return expr::failed(fail(Code::invalid_argument, "{} is not a size: sizes are integers{}",
                             describe(x), x.rank() > 1 ? "" : "; cast it to i64"));
  const Expr wide = cast(x, DType::i64);
  if (x.rank() == 1) return wide;
  if (const auto value = expr::constant_integers(wide)) return built_of(integers(*value), {{x}});
  return apply(ops::unsqueeze_op, {wide}, {{"axes", Sizes{0}}});
}

}  // namespace

Expr shape_of(const std::vector<Expr>& sizes) {
  std::vector<Expr> parts;
  Sizes numbers;
  bool constant = true;
  for (const Expr& size : sizes) {
    parts.push_back(as_sizes(size));
    if (parts.back().error() != nullptr) return parts.back();
    const auto values = expr::constant_integers(parts.back());
    constant &= values.has_value();
    if (values) numbers.insert(numbers.end(), values->begin(), values->end());
  }
  if (constant) return built_of(integers(numbers), parts);
  return parts.size() == 1 ? parts[0] : apply(ops::concat_op, std::move(parts), {{"axis", 0}});
}

Expr size(const Expr& x, int axis) {
  if (Expr bad = expr::unusable(x); bad.defined()) return bad;
  const auto normal = tensor::normalise_axis(axis, x.rank());
  if (!normal)
    return expr::failed(fail(Code::invalid_argument, "axis {} is outside the {} axes of {}", axis,
                             x.rank(), describe(x)));
  const std::int64_t known = x.sizes()[static_cast<std::size_t>(*normal)];
  if (known >= 0) return built_of(expr::integer(known), {{x}});
  return apply(ops::dim_op, {x}, {{"axis", *normal}});
}

Expr shape(const Expr& x) {
  if (Expr bad = expr::unusable(x); bad.defined()) return bad;
  if (std::ranges::all_of(x.sizes(), [](std::int64_t size) { return size >= 0; }))
    return built_of(integers({x.sizes().begin(), x.sizes().end()}), {{x}});
  return apply(ops::shape_op, {x}, {{"start", 0}});
}

Expr reshape(const Expr& x, const Expr& shape) {
  const Expr sizes = as_sizes(shape);
  return told_as(refined(apply(ops::reshape_op, {x, sizes}, {{"allowzero", 1}}), sizes),
                 "reshape of " + called(x));
}
Expr reshape(const Expr& x, std::vector<Expr> sizes) { return reshape(x, shape_of(sizes)); }

Expr flatten(const Expr& x, int rank) {
  if (x.error() != nullptr) return x;
  if (rank < 1 || (x.rank() > 0 && rank > x.rank()))
    return expr::failed(fail(Code::invalid_argument, "flatten to {} axes of {} with {}", rank,
                             describe(x), x.rank()));
  if (rank == x.rank()) return x;
  std::vector<Expr> sizes;
  for (int axis = 0; axis + 1 < rank; ++axis) sizes.push_back(size(x, axis));
  sizes.emplace_back(-1);
  return reshape(x, std::move(sizes));
}

Expr dimshuffle(const Expr& x, const Axes& order) {
  if (x.error() != nullptr) return x;
  Sizes kept, dropped, added;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] == -1) {
      added.push_back(static_cast<std::int64_t>(i));
    } else if (order[i] < 0 || order[i] >= x.rank() ||
               std::ranges::find(kept, order[i]) != kept.end()) {
      return expr::failed(fail(Code::invalid_argument,
                               "dimshuffle of {}: axis {} is outside its {} axes, or named twice",
                               describe(x), order[i], x.rank()));
    } else {
      kept.push_back(order[i]);
    }
  }
  for (std::int64_t axis = 0; axis < x.rank(); ++axis)
    if (std::ranges::find(kept, axis) == kept.end()) dropped.push_back(axis);
  for (const std::int64_t axis : dropped)
    if (const std::int64_t known = x.sizes()[static_cast<std::size_t>(axis)]; known > 1)
      return expr::failed(fail(Code::invalid_argument,
                               "dimshuffle of {} leaves out axis {}, which is of size {}, not 1",
                               describe(x), axis, known));
  Expr result = dropped.empty() ? x : squeeze(x, dropped);
  if (!dropped.empty() && result.error() == nullptr)
    result.node()->location = "dimshuffle of " + called(x);
  Sizes perm;
  for (const std::int64_t axis : kept)
    perm.push_back(axis - std::ranges::count_if(dropped, [&](auto d) { return d < axis; }));
  if (!std::ranges::is_sorted(perm)) result = apply(ops::transpose_op, {result}, {{"perm", perm}});
  return added.empty() ? result : expand_dims(result, added);
}

Expr transpose(const Expr& x) {
  if (x.error() != nullptr || x.rank() < 2) return x;
  return apply(ops::transpose_op, {x});
}

Expr expand_dims(const Expr& x, const Axes& axes) {
  return apply(ops::unsqueeze_op, {x}, {{"axes", axes}});
}
Expr squeeze(const Expr& x, const Axes& axes) {
  if (axes.empty()) return x;
  return told_as(apply(ops::squeeze_op, {x}, {{"axes", axes}}), "squeeze of " + called(x));
}

Expr broadcast_to(const Expr& x, const Expr& shape) {
  const Expr sizes = as_sizes(shape);
  return told_as(refined(apply(ops::expand_op, {x, sizes}), sizes), "broadcasting " + called(x));
}

Expr sum_to(const Expr& x, const Expr& shape) {
  const Expr wanted = as_sizes(shape);
  if (x.error() != nullptr) return x;
  if (wanted.error() != nullptr) return wanted;
  const auto known = entries(wanted);
  if (!known) return apply(ops::sum_to_op, {x, wanted});
  if (known->size() > static_cast<std::size_t>(x.rank()))
    return expr::failed(fail(Code::invalid_argument, "{} has {} axes, fewer than the {} to sum to",
                             describe(x), x.rank(), known->size()));
  // The axes summed for certain: leading ones that the result lacks, and those that have size 1
  // there.
  const auto extra = static_cast<std::size_t>(x.rank()) - known->size();
  Axes in_front(extra), of_one;
  std::iota(in_front.begin(), in_front.end(), std::int64_t{0});
  bool open = false;
  for (std::size_t i = 0; i < known->size(); ++i) {
    const std::int64_t to = (*known)[i], from = x.sizes()[i + extra];
    if (to == 1 && from != 1) of_one.push_back(static_cast<std::int64_t>(i));
    open |= to < 0 && from != 1;
  }
  Expr result = extra > 0 ? sum(x, in_front) : x;
  if (!of_one.empty()) result = sum(result, of_one, true);
  if (open) result = apply(ops::sum_to_op, {result, wanted});
  return refined(result, wanted);
}

Expr concatenate(const std::vector<Expr>& parts, int axis) {
  if (parts.empty())
    return expr::failed(fail(Code::invalid_argument, "concatenate: there is nothing to join"));
  std::vector<Expr> same = expr::promoted(parts);
  if (const Expr* bad = expr::first_failed(same)) return *bad;
  const auto normal = tensor::normalise_axis(axis, same[0].rank());
  if (!normal)
    return expr::failed(fail(Code::invalid_argument, "concatenate: axis {} is outside the {} axes",
                             axis, same[0].rank()));
  if (same.size() == 1) return same[0];
  return told_as(apply(ops::concat_op, std::move(same), {{"axis", *normal}}),
                 "joining " + list_of(parts));
}

Expr stack(const std::vector<Expr>& parts, int axis) {
  std::vector<Expr> wide = parts.empty() ? parts : expr::promoted(parts);
  if (const Expr* bad = expr::first_failed(wide)) return *bad;
  for (Expr& part : wide) part = expand_dims(part, {axis});
  Expr joined = concatenate(wide, axis);
  if (wide.size() > 1 && joined.error() == nullptr)
    joined.node()->location = "stacking " + list_of(parts);
  return joined;
}

Expr full(const Expr& shape, const Expr& value) { return broadcast_to(value, shape); }

Expr zeros(const Expr& shape, DType dtype) {
  const Expr sizes = as_sizes(shape);
  auto zero = tensor::Tensor::zeros(dtype, {1});
  if (!zero) return expr::failed(std::move(zero).error());
  return told_as(
      refined(apply(ops::constant_of_shape_op, {sizes}, {{"value", *std::move(zero)}}), sizes),
      "zeros");
}
Expr zeros_like(const Expr& x) {
  if (Expr bad = expr::unusable(x); bad.defined()) return bad;
  // Without reading x, which may be computed only in a branch region.
  const std::vector<std::int64_t>& sizes = expr::type_of(x).sizes;
  const bool is_known = std::ranges::none_of(sizes, [](std::int64_t size) { return size < 0; });
  return built_of(zeros(is_known ? integers(sizes) : shape(x), x.dtype()), {{x}});
}
Expr ones_like(const Expr& x) {
  if (Expr bad = expr::unusable(x); bad.defined()) return bad;
  return full(shape(x), number(1, x.dtype()));
}

Expr arange(const Expr& start, const Expr& stop, const Expr& step) {
  std::vector<Expr> limits = expr::promoted({start, stop, step});
  if (const Expr* bad = expr::first_failed(limits)) return *bad;
  const DTypeKind kind = dtype_kind(limits[0].dtype());
  if (kind != DTypeKind::real)
    for (Expr& limit : limits)
      limit = cast(limit, kind == DTypeKind::unsigned_int ? DType::u64 : DType::i64);
  return told_as(apply(ops::range_op, std::move(limits)), "arange");
}

}  // namespace scanloom
