// The items of an index, x[...], resolved for a tensor: what indexing reads and writes by.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <scanloom/expr.h>

namespace scanloom::expr {

/// The items without ellipses and masks: one per axis, plus new axes.
struct ResolvedIndex {
  std::vector<Index> items;
  /// Whether a slice, a new axis or an ellipsis, even one of no axes, separates two indices. The
  /// axes of vectors of integers then come first.
  bool separated = false;
  std::optional<Error> error;
};

/// Resolves the items for x: masks become vectors of numbers, ellipses and missing items slices.
ResolvedIndex resolve_index(const Expr& x, const std::vector<Index>& items);

/// Whether the item stands for an axis of the tensor.
bool takes_axis(const Index& item);

/// Returns the axis that the item at `at` names, before any axis is dropped.
std::int64_t axis_of(const std::vector<Index>& items, std::size_t at);

/// The slices among the items, on axes that are still those of x.
struct Slices {
  std::vector<Expr> starts, stops, steps;
  std::vector<std::int64_t> axes;
  bool by_one = true;  ///< all steps are 1
};

/// Returns the slices that are not whole axes. Errors: a step of 0.
Expected<Slices> slices_of(const Expr& x, const std::vector<Index>& items);

/// Returns x as a scalar, or `otherwise` if it is not defined.
Expr scalar_or(const Expr& x, std::int64_t otherwise);

}  // namespace scanloom::expr
