// Reductions and other operators along axes.
#include <scanloom/expr.h>
#include <scanloom/scan.h>

#include <algorithm>

#include "expr/apply.h"
#include "expr/complex_rules.h"
#include "expr/types.h"
#include "ops/ops.h"

namespace scanloom {

using expr::apply;

namespace {

/// Negative axes count from the end. Error: an axis that x does not have.
Expected<std::vector<std::int64_t>> normalised(const Expr& x, const Axes& axes,
                                               std::string_view what) {
  std::vector<std::int64_t> normal;
  for (const std::int64_t axis : axes) {
    const auto found = tensor::normalise_axis(axis, x.rank());
    if (!found)
      return fail(Code::invalid_argument, "{} of {}: axis {} is outside its {} axes", what,
                  expr::describe(x), axis, x.rank());
    normal.push_back(*found);
  }
  return normal;
}

Expr reduce(std::string_view kind, const Expr& x, const Axes& axes, bool keepdims) {
  if (x.error() != nullptr) return x;
  auto along = normalised(x, axes, kind);
  if (!along) return expr::failed(std::move(along).error());
  tensor::Attr listed;
  if (!along->empty()) listed = *std::move(along);
  return apply(ops::reduce_op, {x},
               {{"kind", std::string(kind)}, {"axes", listed}, {"keepdims", keepdims ? 1 : 0}});
}

/// Sums of booleans and narrow signed integers are i64, those of narrow unsigned ones u64, as in
/// numpy; those of narrow floating-point types keep their type.
Expr widened(const Expr& x) {
  if (x.error() != nullptr) return x;
  const DTypeKind kind = dtype_kind(x.dtype());
  if (kind == DTypeKind::boolean || kind == DTypeKind::signed_int) return cast(x, DType::i64);
  if (kind == DTypeKind::unsigned_int) return cast(x, DType::u64);
  return x;
}

/// 0 or 1, unsigned: the maximum of no elements is then 0, false.
Expr as_boolean(const Expr& x) {
  if (x.error() != nullptr) return x;
  return cast(cast(x, DType::boolean), DType::u8);
}

Expr min_max_index(const ir::OpDef& named, const Expr& x, std::optional<int> axis, bool keepdims) {
  if (x.error() != nullptr) return x;
  const bool of_all = !axis || x.rank() == 0;
  const auto along = normalised(x, of_all ? Axes{} : Axes{*axis}, named.name);
  if (!along) return expr::failed(along.error());
  // The operators are ONNX's, for which NaN is the maximum. In numpy the first NaN is also the
  // minimum.
  const bool mirrored = &named == &ops::argmin_op && is_floating_point(x.dtype());
  const ir::OpDef& op = mirrored ? ops::argmax_op : named;
  const Expr from = mirrored ? -x : x.dtype() == DType::boolean ? cast(x, DType::i8) : x;
  if (!of_all)
    return apply(
        op, {from},
        {{"axis", along->front()}, {"keepdims", keepdims ? 1 : 0}, {"select_last_index", 0}});
  const Expr flat =
      apply(op, {flatten(from)}, {{"axis", 0}, {"keepdims", 0}, {"select_last_index", 0}});
  if (!keepdims) return flat;
  return reshape(flat,
                 expr::integers(std::vector<std::int64_t>(static_cast<std::size_t>(x.rank()), 1)));
}

Expr along_axis(const ir::OpDef& op, const Expr& x, int axis) {
  if (x.error() != nullptr) return x;
  const auto along = normalised(x, {axis}, op.name);
  if (!along) return expr::failed(along.error());
  return apply(op, {cast(x, expr::real_of(x.dtype()))}, {{"axis", along->front()}});
}

Expr cumulative(const ir::OpDef& op, const Expr& x, int axis) {
  const Expr from = widened(x);
  if (from.error() != nullptr) return from;
  const auto along = normalised(x, {axis}, op.name);
  if (!along) return expr::failed(along.error());
  return apply(op, {from, expr::integer(along->front())}, {{"exclusive", 0}, {"reverse", 0}});
}

/// Returns the values and the indices.
std::vector<Expr> sorted(const Expr& x, int axis, std::string_view what) {
  if (x.error() != nullptr) return {x, x};
  if (Expr bad = expr::refused_complex(what, {x}); bad.defined()) return {bad, bad};
  const Expr from = x.dtype() == DType::boolean ? cast(x, DType::i8) : x;
  const auto along = normalised(x, {axis}, what);
  if (!along) return std::vector(2, expr::failed(along.error()));
  const Expr count = shape_of({size(x, static_cast<int>(along->front()))});
  std::vector<Expr> both = expr::apply_all(
      ops::topk_op, {from, count}, {{"axis", along->front()}, {"largest", 0}, {"sorted", 1}}, 2);
  both[0] = cast(both[0], x.dtype());
  return both;
}

std::vector<Expr> sizes_of_row(const Expr& x) {
  std::vector<Expr> sizes;
  for (int axis = 1; axis < x.rank(); ++axis) sizes.push_back(size(x, axis));
  return sizes;
}

/// Returns how many elements there are along these axes.
Expr number_of(const Expr& x, const std::vector<std::int64_t>& axes) {
  Expr count = expr::integer(1);
  for (const std::int64_t axis : axes) count = count * size(x, static_cast<int>(axis));
  return count;
}

/// Returns the products of the rows of x, from the first on. Machine code multiplies complex
/// numbers one by one, like any other loop.
Expr row_products(const Expr& x) {
  const Expr first = full(shape_of(sizes_of_row(x)), number(1, x.dtype()));
  return scan({.sequences = {x}, .initial = {first}, .name = "product of complex numbers"},
              [](const StepInputs& step) { return step.state(0) * step[0]; });
}

Expr complex_prod(const Expr& x, const Axes& axes, bool keepdims) {
  auto along = normalised(x, axes, "prod");
  if (!along) return expr::failed(std::move(along).error());
  if (along->empty())
    for (std::int64_t axis = 0; axis < x.rank(); ++axis) along->push_back(axis);
  if (along->empty()) return x;
  Axes order = *along;
  std::vector<Expr> sizes{number_of(x, *along)};
  for (int axis = 0; axis < x.rank(); ++axis)
    if (std::ranges::find(*along, axis) == along->end()) {
      order.push_back(axis);
      sizes.push_back(size(x, axis));
    }
  std::ranges::sort(*along);
  const Expr products = row_products(reshape(dimshuffle(x, order), sizes))[-1];
  return keepdims ? expand_dims(products, *along) : products;
}

Expr complex_cumprod(const Expr& x, int axis) {
  const auto along = normalised(x, {axis}, "cumprod");
  if (!along) return expr::failed(along.error());
  Axes front{along->front()}, back;
  for (std::int64_t i = 0; i < x.rank(); ++i) {
    if (i != front[0]) front.push_back(i);
    back.push_back(i == along->front() ? 0 : i < along->front() ? i + 1 : i);
  }
  return dimshuffle(row_products(dimshuffle(x, front)), back);
}

}  // namespace

Expr sum(const Expr& x, const Axes& axes, bool keepdims) {
  return reduce("sum", widened(x), axes, keepdims);
}
Expr prod(const Expr& x, const Axes& axes, bool keepdims) {
  if (x.error() == nullptr && expr::is_complex(x.dtype())) return complex_prod(x, axes, keepdims);
  return reduce("prod", widened(x), axes, keepdims);
}
Expr mean(const Expr& x, const Axes& axes, bool keepdims) {
  if (x.error() != nullptr) return x;
  const bool has_means = is_floating_point(x.dtype()) || expr::is_complex(x.dtype());
  return reduce("mean", has_means ? x : cast(x, DType::f64), axes, keepdims);
}
Expr max(const Expr& x, const Axes& axes, bool keepdims) {
  return reduce("max", x, axes, keepdims);
}
Expr min(const Expr& x, const Axes& axes, bool keepdims) {
  return reduce("min", x, axes, keepdims);
}
Expr all(const Expr& x, const Axes& axes, bool keepdims) {
  return cast(reduce("min", as_boolean(x), axes, keepdims), DType::boolean);
}
Expr any(const Expr& x, const Axes& axes, bool keepdims) {
  return cast(reduce("max", as_boolean(x), axes, keepdims), DType::boolean);
}
Expr argmax(const Expr& x, std::optional<int> axis, bool keepdims) {
  return min_max_index(ops::argmax_op, x, axis, keepdims);
}
Expr argmin(const Expr& x, std::optional<int> axis, bool keepdims) {
  return min_max_index(ops::argmin_op, x, axis, keepdims);
}
Expr softmax(const Expr& x, int axis) { return along_axis(ops::softmax_op, x, axis); }
Expr log_softmax(const Expr& x, int axis) { return along_axis(ops::log_softmax_op, x, axis); }
Expr cumsum(const Expr& x, int axis) { return cumulative(ops::cumsum_op, x, axis); }
Expr sort(const Expr& x, int axis) { return sorted(x, axis, "sort")[0]; }
Expr argsort(const Expr& x, int axis) { return sorted(x, axis, "argsort")[1]; }
Expr cumprod(const Expr& x, int axis) {
  if (x.error() == nullptr && expr::is_complex(x.dtype())) return complex_cumprod(x, axis);
  return cumulative(ops::cumprod_op, x, axis);
}

}  // namespace scanloom
