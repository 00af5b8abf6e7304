// Indexing, x[...]. Slices are views, one integer or vector of integers is a gather, and integers
// for several axes are a gather of tuples.
#include "expr/index.h"

#include <algorithm>

#include "expr/apply.h"
#include "expr/types.h"
#include "ops/ops.h"

namespace scanloom {
namespace expr {
namespace {

using Sizes = std::vector<std::int64_t>;

Expr take_slices(const Expr& x, const std::vector<Index>& items) {
  auto slices = slices_of(x, items);
  if (!slices) return expr::failed(std::move(slices).error());
  if (slices->axes.empty()) return x;
  return apply(ops::slice_op, {x, shape_of(slices->starts), shape_of(slices->stops),
                               expr::integers(slices->axes), shape_of(slices->steps)});
}

Expr as_index(const Expr& index) {
  return index.dtype() == DType::i32 ? index : cast(index, DType::i64);
}

/// Applies single integers, each of which drops its axis: from the last one on, so that earlier
/// axes stay valid.
Expr take_scalars(Expr x, const std::vector<Index>& items, const std::string& words) {
  for (std::size_t i = items.size(); i-- > 0;)
    if (items[i].kind == Index::Kind::at)
      x = told_as(apply(ops::gather_op, {x, as_index(items[i].at)}, {{"axis", axis_of(items, i)}}),
                  words);
  return x;
}

/// Indices of any rank (numpy's advanced indexing): they are broadcast with each other, and their
/// axes replace the first of them, or come first if they are separated. `items` have no new axes.
Expr take_tuples(const Expr& x, const std::vector<Index>& items, bool separated,
                 const std::string& words) {
  std::vector<Expr> indices;
  Sizes named, others;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].kind == Index::Kind::at) {
      indices.push_back(cast(items[i].at, DType::i64));
      named.push_back(axis_of(items, i));
    } else if (items[i].kind == Index::Kind::slice) {
      others.push_back(axis_of(items, i));
    }
  }
  const Expr tuples = tuples_of(indices, words);
  Sizes order = named;
  order.insert(order.end(), others.begin(), others.end());
  const Expr picked =
      told_as(apply(ops::gather_nd_op, {dimshuffle(x, order), tuples}, {{"batch_dims", 0}}), words);
  const std::int64_t in_front = separated ? 0 : named[0];
  if (in_front == 0 || picked.error() != nullptr) return picked;
  Sizes back;
  const std::int64_t width = tuples.rank() - 1;
  for (std::int64_t i = 0; i < in_front; ++i) back.push_back(width + i);
  for (std::int64_t i = 0; i < width; ++i) back.push_back(i);
  for (std::int64_t i = width + in_front; i < picked.rank(); ++i) back.push_back(i);
  return dimshuffle(picked, back);
}

/// Adds new axes where the items say. `index_rank`: of the indices, broadcast with each other.
Expr add_axes(const Expr& x, const ResolvedIndex& part, int index_rank) {
  Sizes axes;
  bool passed = part.separated;
  std::int64_t axis = passed ? index_rank : 0;
  for (const Index& item : part.items) {
    if (item.kind == Index::Kind::new_axis) axes.push_back(axis);
    if (item.kind == Index::Kind::at) {
      axis += passed ? 0 : index_rank;
      passed = true;
    } else {
      ++axis;
    }
  }
  return axes.empty() ? x : expand_dims(x, axes);
}

/// Makes an expression of its own for the part, so that set_subtensor finds what it is part of.

/// Makes an expression of its own for the part, so that set_subtensor finds what it is part of.
Expr remember(const Expr& part, const Expr& whole, std::vector<Index> items) {
  if (part.error() != nullptr) return part;
  Expr own = apply(ops::identity_op, {part});
  own.node()->part = std::make_shared<expr::PartOf>(expr::PartOf{whole, std::move(items)});
  return own;
}

}  // namespace

Expr tuples_of(const std::vector<Expr>& indices, const std::string& words) {
  Expr together = indices[0];
  for (const Expr& index : indices) together = told_as(together + index * expr::integer(0), words);
  std::vector<Expr> columns;
  for (const Expr& index : indices)
    columns.push_back(expand_dims(broadcast_to(index, shape(together)), {together.rank()}));
  return concatenate(columns, -1);
}

Expr take_part(const Expr& x, const ResolvedIndex& part, const std::string& words) {
  const std::vector<Index>& items = part.items;
  int indices = 0, rank = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].kind != Index::Kind::at) continue;
    ++indices;
    rank = std::max(rank, items[i].at.rank());
    last = i;
  }
  Expr picked = take_slices(x, items);
  if (picked.error() != nullptr) return picked;
  if (indices == 1) {
    picked = told_as(
        apply(ops::gather_op, {picked, as_index(items[last].at)}, {{"axis", axis_of(items, last)}}),
        words);
  } else if (rank == 0) {
    picked = take_scalars(picked, items, words);
  } else {
    std::vector<Index> axes;
    for (const Index& item : items)
      if (item.kind != Index::Kind::new_axis) axes.push_back(item);
    picked = take_tuples(picked, axes, part.separated, words);
  }
  if (picked.error() != nullptr) return picked;
  return add_axes(picked, part, rank);
}

bool writes_part(const Expr& x) {
  return x.defined() && x.node()->op != nullptr && x.node()->op->writes_part;
}

Expr written_to(Expr x) {
  while (writes_part(x))
    x = x.node()->written.defined() ? Expr(x.node()->written) : Expr(x.node()->inputs[0]);
  return x;
}

std::string called_table(const Expr& x) {
  return called(!x.defined() || x.name().empty() ? written_to(x) : x);
}

Expr picked_from(const Expr& x, const std::vector<Index>& items, const std::string& words) {
  if (x.error() != nullptr) return x;
  ResolvedIndex resolved = resolve_index(x, items);
  if (resolved.error) return expr::failed(*std::move(resolved.error));
  return remember(take_part(x, resolved, words), x, items);
}

}  // namespace expr

Expr subtensor(const Expr& x, const std::vector<Index>& items) {
  if (Expr bad = expr::unusable(x); bad.defined()) return bad;
  return expr::picked_from(x, items, "an index of " + expr::called_table(x));
}

}  // namespace scanloom
