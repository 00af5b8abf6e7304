// Writing to a part, set_subtensor(x[...], y), scatters: single integers and slices name a window,
// which is written as such; integers and vectors of integers for only the first axes are scatters
// of whole slices. For any other form, indexing a tensor of the element numbers of x shows which
// elements are written; or, for shared variables, which may be large, slices are spelled out as
// positions.
#include <scanloom/expr.h>
#include <scanloom/shared.h>

#include <algorithm>
#include <limits>

#include "expr/apply.h"
#include "expr/index.h"
#include "expr/loop.h"
#include "expr/types.h"
#include "ops/ops.h"

namespace scanloom {

using expr::apply;
using expr::axis_of;
using expr::called;
using expr::called_table;
using expr::describe;
using expr::picked_from;
using expr::resolve_index;
using expr::ResolvedIndex;
using expr::scalar_or;
using expr::slices_of;
using expr::take_part;
using expr::takes_axis;
using expr::told_as;
using expr::tuples_of;
using expr::writes_part;
using expr::written_to;

namespace {

using Sizes = std::vector<std::int64_t>;

/// Drops the axes of y where the part has new ones.
Expr without_new_axes(const Expr& y, const Expr& part, const std::vector<Index>& items) {
  Sizes axes;
  std::int64_t axis = y.rank() - part.rank();
  for (const Index& item : items) {
    if (item.kind == Index::Kind::new_axis && axis >= 0) axes.push_back(axis);
    axis += item.kind == Index::Kind::at ? 0 : 1;
  }
  return axes.empty() ? y : squeeze(y, axes);
}

/// Writes y to the window of `whole` that single integers and slices name.
Expr scatter_window(const Expr& whole, const std::vector<Index>& items, const Expr& y,
                    std::string_view reduction, const std::string& words) {
  auto slices = slices_of(whole, items);
  if (!slices) return expr::failed(std::move(slices).error());
  std::vector<Expr> indices;
  Sizes picked;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].kind != Index::Kind::at) continue;
    indices.push_back(cast(items[i].at, DType::i64));
    picked.push_back(axis_of(items, i));
  }
  const bool sliced = !slices->axes.empty();
  return told_as(
      apply(ops::scatter_slice_op,
            {whole, y, picked.empty() ? Expr() : shape_of(indices),
             sliced ? shape_of(slices->starts) : Expr(), sliced ? shape_of(slices->stops) : Expr(),
             slices->by_one ? Expr() : shape_of(slices->steps)},
            {{"axes", slices->axes}, {"picked", picked}, {"reduction", std::string(reduction)}}),
      words);
}

/// Broadcasts y, which must fit, to the size of the part.
Expr as_large_as(const Expr& part, const Expr& y, const std::string& words) {
  Expr wide = broadcast_to(y, shape(part));
  if (wide.error() == nullptr) wide.node()->location = words;
  return wide;
}

/// Returns the indices if they name the first axes and everything else is whole; otherwise none.
std::vector<Expr> leading_indices(const std::vector<Index>& items) {
  std::vector<Expr> indices;
  for (const Index& item : items) {
    const bool at = item.kind == Index::Kind::at;
    const bool fits = at ? indices.size() == static_cast<std::size_t>(&item - items.data())
                         : expr::is_whole_axis(item);
    if (!fits) return {};
    if (at) indices.push_back(cast(item.at, DType::i64));
  }
  return indices;
}

/// The first position of a slice, or the end that it does not reach, in [low, high], as numpy
/// clips them.
Expr clipped(const Expr& limit, const Expr& size, const Expr& low, const Expr& high) {
  const Expr from_start = where(limit < 0, limit + size, limit);
  return maximum(low, minimum(from_start, high));
}

/// Returns the positions along the axis that a slice names, in its order. They take time for the
/// slice, not for the axis, unless its step is computed.
Expr positions_of(const Expr& x, const Index& item, std::int64_t axis) {
  const Expr count = size(x, static_cast<int>(axis)), zero = expr::integer(0);
  const auto step =
      item.step.defined() ? expr::constant_integers(item.step) : std::optional(Sizes{1});
  if (!step) return subtensor(arange(zero, count), {item});
  const bool back = (*step)[0] < 0;
  const Expr low = expr::integer(back ? -1 : 0), high = back ? count - 1 : count;
  const auto end = [&](const Expr& given, const Expr& otherwise) {
    return given.defined() ? clipped(cast(scalar_or(given, 0), DType::i64), count, low, high)
                           : otherwise;
  };
  return arange(end(item.start, back ? high : zero), end(item.stop, back ? low : count),
                expr::integer((*step)[0]));
}

/// The axes of a part that slices and vectors of integers name together.
struct MixedPart {
  int rank = 0;           ///< without new axes
  int index_rank = 0;     ///< of the integers, broadcast with each other
  int first_indexed = 0;  ///< where their axes begin
  std::size_t named = 0;  ///< items before the last whole axes

  MixedPart(const std::vector<Index>& items, bool separated) {
    std::size_t first = items.size(), count = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (!expr::is_whole_axis(items[i])) named = i + 1;
      if (items[i].kind != Index::Kind::at) continue;
      index_rank = std::max(index_rank, items[i].at.rank());
      first = std::min(first, i);
      ++count;
    }
    rank = static_cast<int>(items.size() - count) + index_rank;
    first_indexed = separated ? 0 : static_cast<int>(first);
  }
};

/// Writes y, which has the size of the part, where slices and vectors of integers meet: by tuples
/// of positions, one for each element or for each slice along the last whole axes. The items have
/// no new axes.
Expr scatter_mixed(const Expr& whole, const ResolvedIndex& resolved, const Expr& y,
                   std::string_view reduction, const std::string& words) {
  const std::vector<Index>& items = resolved.items;
  const MixedPart part(items, resolved.separated);
  const int rank = part.rank - static_cast<int>(items.size() - part.named);
  std::vector<Expr> sizes, columns;
  for (int k = 0; k < rank; ++k) sizes.push_back(size(y, k));
  int axis = 0;  // of the part, for the next slice
  for (std::size_t i = 0; i < part.named; ++i) {
    const bool at = items[i].kind == Index::Kind::at;
    if (!at && axis == part.first_indexed) axis += part.index_rank;
    const Expr positions =
        at ? cast(items[i].at, DType::i64) : positions_of(whole, items[i], std::int64_t(i));
    // The axes of the part that follow these positions; broadcasting adds the ones before.
    const int end = at ? part.first_indexed + part.index_rank : ++axis;
    Sizes after;
    for (int k = end; k < rank; ++k) after.push_back(positions.rank() + k - end);
    const Expr placed = after.empty() ? positions : expand_dims(positions, after);
    columns.push_back(expand_dims(broadcast_to(placed, shape_of(sizes)), {rank}));
  }
  return told_as(apply(ops::scatter_nd_op, {whole, concatenate(columns, -1), y},
                       {{"reduction", std::string(reduction)}}),
                 words);
}

/// The number of each element, in the shape of x.
Expr element_numbers(const Expr& x) { return reshape(arange(0, size(flatten(x), 0)), shape(x)); }

/// Writes y to the elements with these numbers. The numbers of all elements take time for all of
/// `whole`, but loops make them once, and their steps compile to less than tuples of positions do.
Expr scatter_numbered(const Expr& whole, const Expr& numbers, const Expr& y,
                      std::string_view reduction, const std::string& words) {
  const Expr written =
      told_as(apply(ops::scatter_elements_op, {flatten(whole), flatten(numbers), flatten(y)},
                    {{"axis", 0}, {"reduction", std::string(reduction)}}),
              words);
  return reshape(written, shape(whole));
}

/// Returns `of.whole` with y written, or added, to the elements that the items name.
Expr scatter(const expr::PartOf& of, const Expr& given, const Expr& y, std::string_view reduction,
             const std::string& words) {
  const Expr& whole = of.whole;
  const Expr base = written_to(whole);
  const Expr part = base == whole ? given : picked_from(base, of.items, words);
  const bool leading = std::ranges::all_of(of.items, [](const Index& item) {
    return item.kind == Index::Kind::at && item.at.rank() == 0 && is_integer(item.at.dtype());
  });
  if (leading) {
    std::vector<Expr> tuple;
    for (const Index& item : of.items) tuple.push_back(cast(item.at, DType::i64));
    return told_as(apply(ops::scatter_nd_op, {whole, shape_of(tuple), as_large_as(part, y, words)},
                         {{"reduction", std::string(reduction)}}),
                   words);
  }
  if (of.items.size() == 1 && of.items[0].kind == Index::Kind::at &&
      is_integer(of.items[0].at.dtype())) {
    const Expr tuples = expand_dims(cast(of.items[0].at, DType::i64), {of.items[0].at.rank()});
    return told_as(apply(ops::scatter_nd_op, {whole, tuples, as_large_as(part, y, words)},
                         {{"reduction", std::string(reduction)}}),
                   words);
  }
  ResolvedIndex resolved = resolve_index(whole, of.items);
  if (resolved.error) return expr::failed(*std::move(resolved.error));
  const bool window = std::ranges::none_of(resolved.items, [](const Index& item) {
    return item.kind == Index::Kind::at && item.at.rank() > 0;
  });
  if (window)
    return scatter_window(whole, resolved.items, without_new_axes(y, part, resolved.items),
                          reduction, words);
  if (const std::vector<Expr> indices = leading_indices(resolved.items); !indices.empty())
    return told_as(
        apply(ops::scatter_nd_op, {whole, tuples_of(indices, words), as_large_as(part, y, words)},
              {{"reduction", std::string(reduction)}}),
        words);
  Expr wide = as_large_as(part, y, words);
  if (!is_shared(base)) {
    const Expr numbers = picked_from(element_numbers(whole), of.items, words);
    return scatter_numbered(whole, numbers, wide, reduction, words);
  }
  if (std::erase_if(resolved.items, [](const Index& item) { return !takes_axis(item); }) > 0)
    wide = reshape(wide, shape(take_part(written_to(whole), resolved, words)));
  return scatter_mixed(whole, resolved, wide, reduction, words);
}

Expr write(const Expr& part, const Expr& y, std::string_view reduction) {
  for (const Expr* x : {&part, &y})
    if (Expr bad = expr::unusable(*x); bad.defined()) return bad;
  const auto of = part.node()->part;
  if (of == nullptr)
    return expr::failed(fail(Code::invalid_argument,
                             "{} is not a part of a tensor: write set_subtensor(x[...], y)",
                             describe(part)));
  const DType dtype = of->whole.dtype();
  const std::vector<Expr> both{of->whole, y};
  if (expr::common_dtype(both) != dtype)
    return expr::failed(fail(
        Code::invalid_argument, "{} ({}) does not fit into {} ({}); cast it to {}", describe(y),
        dtype_name(y.dtype()), describe(of->whole), dtype_name(dtype), dtype_name(dtype)));
  if (y.rank() > part.rank())
    return expr::failed(fail(Code::invalid_argument,
                             "{} has {} axes, but the part written to has {}", describe(y),
                             y.rank(), part.rank()));
  const std::string words = std::string(reduction == "add" ? "adding " : "writing ") + called(y) +
                            " to a part of " + called_table(of->whole);
  for (int axis = 0; axis < y.rank(); ++axis) {
    const std::int64_t own = y.sizes()[static_cast<std::size_t>(axis)],
                       wanted =
                           part.sizes()[static_cast<std::size_t>(part.rank() - y.rank() + axis)];
    if (own >= 0 && wanted >= 0 && own != 1 && own != wanted)
      return expr::failed(fail(Code::invalid_argument,
                               "{}: size {} on axis {} does not match a part of size {}", words,
                               own, axis, wanted));
  }
  Expr result = scatter(*of, part, cast(y, dtype), reduction, words);
  // The next of many writes finds the tensor without following all of them.
  if (writes_part(result) && result.node()->inputs[0] == of->whole)
    result.node()->written = written_to(of->whole);
  return result;
}

}  // namespace

Expr set_subtensor(const Expr& part, const Expr& y) { return write(part, y, "none"); }
Expr increment_subtensor(const Expr& part, const Expr& y) { return write(part, y, "add"); }

}  // namespace scanloom
