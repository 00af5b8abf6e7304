// Indexing, x[...]. Slices are views, one integer or vector of integers is a gather, and integers
// for several axes are a gather of tuples. Writing to a part scatters: single integers and slices
// name a window, which is written as such; integers and vectors of integers for only the first axes
// are scatters of whole slices. For any other form, indexing a tensor of the element numbers of x
// shows which elements are written; or, for shared variables, which may be large, slices are
// spelled out as positions.
#include <scanloom/expr.h>
#include <scanloom/shared.h>

#include <algorithm>
#include <limits>

#include "expr/apply.h"
#include "expr/loop.h"
#include "expr/types.h"
#include "ops/ops.h"

namespace scanloom {

using expr::apply;
using expr::called;
using expr::describe;
using expr::told_as;

namespace {

using Sizes = std::vector<std::int64_t>;

/// The items without ellipses and masks: one per axis, plus new axes.
struct Resolved {
  std::vector<Index> items;
  /// Whether a slice, a new axis or an ellipsis, even one of no axes, separates two indices. The
  /// axes of vectors of integers then come first.
  bool separated = false;
  std::optional<Error> error;
};

bool takes_axis(const Index& item) {
  return item.kind == Index::Kind::at || item.kind == Index::Kind::slice;
}

bool is_mask(const Index& item) {
  return item.kind == Index::Kind::at && item.at.dtype() == DType::boolean;
}

/// Returns how many axes of the tensor the item takes.
int axes_of(const Index& item) { return is_mask(item) ? item.at.rank() : takes_axis(item) ? 1 : 0; }

std::optional<Error> check_item(const Index& item) {
  for (const Expr* x : {&item.at, &item.start, &item.stop, &item.step})
    if (x->defined() && x->error() != nullptr) return *x->error();
  if (item.kind == Index::Kind::at && !is_integer(item.at.dtype()) &&
      item.at.dtype() != DType::boolean)
    return fail(Code::invalid_argument,
                "{} is not an index: indices are integers or booleans; cast it to i64",
                describe(item.at));
  if (item.kind == Index::Kind::at && item.at.dtype() == DType::boolean && item.at.rank() == 0)
    return fail(Code::invalid_argument,
                "{} is a single boolean: a mask needs the axes that it selects from",
                describe(item.at));
  for (const Expr* x : {&item.start, &item.stop, &item.step})
    if (x->defined() && (!is_integer(x->dtype()) || x->rank() > 1))
      return fail(Code::invalid_argument, "{} is not a slice limit: limits are single integers{}",
                  describe(*x), is_integer(x->dtype()) ? "" : "; cast it to i64");
  return std::nullopt;
}

/// Returns the mask for the axes of x from `first` on. Error, now or at run time: it has other
/// sizes.
Expr fitting_mask(const Expr& mask, const Expr& x, std::int64_t first) {
  if (first + mask.rank() > x.rank()) return mask;  // reported together with all indices
  std::vector<Expr> sizes;
  bool known = true;
  for (int axis = 0; axis < mask.rank(); ++axis) {
    const int picked = static_cast<int>(first) + axis;
    const std::int64_t a = mask.sizes()[static_cast<std::size_t>(axis)],
                       b = x.sizes()[static_cast<std::size_t>(picked)];
    if (a >= 0 && b >= 0 && a != b)
      return expr::failed(fail(Code::invalid_argument,
                               "a mask of {} elements on axis {} for an axis of {} elements: {} "
                               "for {}",
                               a, axis, b, describe(mask), describe(x)));
    known = known && a >= 0 && b >= 0;
    const std::string text =
        "a mask of {} elements on axis " + std::to_string(axis) + " for an axis of {} elements";
    sizes.push_back(a >= 0 && b >= 0 ? expr::integer(a)
                                     : checked_equal(size(mask, axis), size(x, picked), text,
                                                     "an index of " + describe(x)));
  }
  return known ? mask : reshape(mask, sizes);
}

/// Turns a boolean mask into the indices of its true elements, one vector for each of its axes.
void add_mask(const Expr& mask, std::vector<Index>& items) {
  const Expr where = apply(ops::non_zero_op, {mask});
  for (int axis = 0; axis < mask.rank(); ++axis)
    items.push_back(Index::of(apply(ops::gather_op, {where, expr::integer(axis)}, {{"axis", 0}})));
}

/// Whether anything is between the first and the last index, including an ellipsis that was removed
/// before the item at `dots`.
bool is_separated(const std::vector<Index>& items, std::optional<std::size_t> dots) {
  const auto is_index = [](const Index& item) { return item.kind == Index::Kind::at; };
  const auto first = std::ranges::find_if(items, is_index);
  if (first == items.end()) return false;
  const auto last = std::ranges::find_if(items.rbegin(), items.rend(), is_index).base();
  const auto before_dots = items.begin() + static_cast<std::ptrdiff_t>(dots.value_or(0));
  return !std::all_of(first, last, is_index) || (first < before_dots && before_dots < last);
}

Resolved resolve(const Expr& x, const std::vector<Index>& items) {
  Resolved resolved;
  std::vector<Index> plain;
  std::optional<std::size_t> dots;
  std::int64_t axis = 0;  // of x, for the next item
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Index& item = items[i];
    if (auto error = check_item(item)) return {.error = std::move(error)};
    if (item.kind == Index::Kind::ellipsis) {
      if (dots)
        return {.error = fail(Code::invalid_argument, "{}[...] with two ellipses", describe(x))};
      dots = plain.size();
      axis = x.rank();
      for (std::size_t k = i + 1; k < items.size(); ++k) axis -= axes_of(items[k]);
    } else if (is_mask(item)) {
      const Expr mask = fitting_mask(item.at, x, axis);
      if (mask.error() != nullptr) return {.error = *mask.error()};
      add_mask(mask, plain);
      axis += mask.rank();
    } else {
      plain.push_back(item);
      axis += axes_of(item);
    }
  }
  const auto named = std::ranges::count_if(plain, takes_axis);
  if (named > x.rank())
    return {.error = fail(Code::invalid_argument, "{} indices for {}, which has {} axes", named,
                          describe(x), x.rank())};
  const bool separated = is_separated(plain, dots);
  const auto rest = static_cast<std::size_t>(x.rank() - named);
  plain.insert(plain.begin() + static_cast<std::ptrdiff_t>(dots.value_or(plain.size())), rest,
               Index::all());
  return {.items = std::move(plain), .separated = separated};
}

Expr scalar_or(const Expr& x, std::int64_t otherwise) {
  if (!x.defined()) return expr::integer(otherwise);
  return x.rank() == 0 ? x : reshape(x, expr::integers({}));
}

/// The slices among the items, on axes that are still those of x.
struct Slices {
  std::vector<Expr> starts, stops, steps;
  Sizes axes;
  bool by_one = true;  ///< all steps are 1
};

/// Whether a slice may begin before the first element.
bool may_begin_before(const Expr& x, const Expr& start, std::int64_t axis) {
  if (!start.defined()) return false;
  const auto known = expr::constant_integers(start);
  if (!known || known->empty()) return true;
  const std::int64_t size = x.sizes()[static_cast<std::size_t>(axis)];
  return (*known)[0] < -1 && (size < 0 || (*known)[0] < -size);
}

/// Returns where the last of the slices stops. If it goes backwards from before the first element,
/// it is empty as in numpy; ONNX's Slice would start with the first element.
Expr stop_of_nothing(const Expr& x, const Slices& slices, std::int64_t axis) {
  const Expr &start = slices.starts.back(), &step = slices.steps.back();
  const Expr before = start < -size(x, static_cast<int>(axis));
  return where(before & (step < 0), expr::integer(0), slices.stops.back());
}

Expected<Slices> slices_of(const Expr& x, const std::vector<Index>& items) {
  Slices all;
  std::int64_t axis = 0;
  for (const Index& item : items) {
    if (item.kind == Index::Kind::slice && !expr::is_whole_axis(item)) {
      const auto step =
          item.step.defined() ? expr::constant_integers(item.step) : std::optional(Sizes{1});
      const bool back = step && (*step)[0] < 0;
      if (step && (*step)[0] == 0)
        return fail(Code::invalid_argument, "a slice of {} has step 0", describe(x));
      all.by_one &= step && (*step)[0] == 1;
      all.steps.push_back(scalar_or(item.step, 1));
      // If the step is computed, so are the default start and end.
      const auto end = [&](const Expr& given, std::int64_t ahead, std::int64_t backwards) {
        if (step || given.defined()) return scalar_or(given, back ? backwards : ahead);
        return where(all.steps.back() < 0, expr::integer(backwards), expr::integer(ahead));
      };
      constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
      all.starts.push_back(end(item.start, 0, kFar));
      all.stops.push_back(end(item.stop, kFar, -kFar));
      if ((back || !step) && may_begin_before(x, item.start, axis))
        all.stops.back() = stop_of_nothing(x, all, axis);
      all.axes.push_back(axis);
    }
    axis += takes_axis(item) ? 1 : 0;
  }
  return all;
}

Expr take_slices(const Expr& x, const std::vector<Index>& items) {
  auto slices = slices_of(x, items);
  if (!slices) return expr::failed(std::move(slices).error());
  if (slices->axes.empty()) return x;
  return apply(ops::slice_op, {x, shape_of(slices->starts), shape_of(slices->stops),
                               expr::integers(slices->axes), shape_of(slices->steps)});
}

/// Returns the axis that the item at `at` names, before any axis is dropped.
std::int64_t axis_of(const std::vector<Index>& items, std::size_t at) {
  return std::count_if(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(at), takes_axis);
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

/// Returns indices of any rank, broadcast with each other, as tuples along a new last axis.
Expr tuples_of(const std::vector<Expr>& indices, const std::string& words) {
  Expr together = indices[0];
  for (const Expr& index : indices) together = told_as(together + index * expr::integer(0), words);
  std::vector<Expr> columns;
  for (const Expr& index : indices)
    columns.push_back(expand_dims(broadcast_to(index, shape(together)), {together.rank()}));
  return concatenate(columns, -1);
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
Expr add_axes(const Expr& x, const Resolved& part, int index_rank) {
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

/// `words`: describes what was indexed, for the error about an index that is outside.
Expr take(const Expr& x, const Resolved& part, const std::string& words) {
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

/// Makes an expression of its own for the part, so that set_subtensor finds what it is part of.
Expr remember(const Expr& part, const Expr& whole, std::vector<Index> items) {
  if (part.error() != nullptr) return part;
  Expr own = apply(ops::identity_op, {part});
  own.node()->part = std::make_shared<expr::PartOf>(expr::PartOf{whole, std::move(items)});
  return own;
}

Expr picked_from(const Expr& x, const std::vector<Index>& items, const std::string& words) {
  if (x.error() != nullptr) return x;
  Resolved resolved = resolve(x, items);
  if (resolved.error) return expr::failed(*std::move(resolved.error));
  return remember(take(x, resolved, words), x, items);
}

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

/// Returns the tensor that `whole` is with parts overwritten. It has the same sizes, and reading
/// them there leaves the results of writes unread, so that they can be made in place.
Expr written_to(Expr whole) {
  while (whole.defined() && whole.node()->op != nullptr && whole.node()->op->writes_part)
    whole = Expr(whole.node()->inputs[0]);
  return whole;
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
Expr scatter_mixed(const Expr& whole, const Resolved& resolved, const Expr& y,
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
  Resolved resolved = resolve(whole, of.items);
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
    wide = reshape(wide, shape(take(written_to(whole), resolved, words)));
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
                            " to a part of " + called(of->whole);
  for (int axis = 0; axis < y.rank(); ++axis) {
    const std::int64_t own = y.sizes()[static_cast<std::size_t>(axis)],
                       wanted =
                           part.sizes()[static_cast<std::size_t>(part.rank() - y.rank() + axis)];
    if (own >= 0 && wanted >= 0 && own != 1 && own != wanted)
      return expr::failed(fail(Code::invalid_argument,
                               "{}: size {} on axis {} does not match a part of size {}", words,
                               own, axis, wanted));
  }
  return scatter(*of, part, cast(y, dtype), reduction, words);
}

}  // namespace

Expr subtensor(const Expr& x, const std::vector<Index>& items) {
  if (Expr bad = expr::unusable(x); bad.defined()) return bad;
  return picked_from(x, items, "an index of " + called(x));
}

Expr set_subtensor(const Expr& part, const Expr& y) { return write(part, y, "none"); }
Expr increment_subtensor(const Expr& part, const Expr& y) { return write(part, y, "add"); }

}  // namespace scanloom
