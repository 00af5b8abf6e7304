#include "expr/index_items.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "expr/apply.h"
#include "expr/loop.h"
#include "expr/types.h"
#include "ops/ops.h"

namespace scanloom::expr {
namespace {

using Sizes = std::vector<std::int64_t>;

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

}  // namespace

bool takes_axis(const Index& item) {
  return item.kind == Index::Kind::at || item.kind == Index::Kind::slice;
}

ResolvedIndex resolve_index(const Expr& x, const std::vector<Index>& items) {
  ResolvedIndex resolved;
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

std::int64_t axis_of(const std::vector<Index>& items, std::size_t at) {
  return std::count_if(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(at), takes_axis);
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

Expr scalar_or(const Expr& x, std::int64_t otherwise) {
  if (!x.defined()) return expr::integer(otherwise);
  return x.rank() == 0 ? x : reshape(x, expr::integers({}));
}

}  // namespace scanloom::expr
