// Folds of rows of adjacent elements, to one element each or element by element, in the order of
// opmath/reduction.h: one after the other, or long rows in interleaved parts, which are vectors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "opmath/reduction.h"

namespace scanloom::kernels {

/// How far ahead add_exp fetches: where the next chunk of a row begins, or about there the next
/// block of rows (rows_plan.h).
inline constexpr std::int64_t kFetchedAhead = 2048;

/// For elements of one type and one kind of fold: any of f32 or f64, except products, whose
/// functions are null; or sums of integers in i32, which wrap and have no order.
struct RowFoldFns {
  /// y[j] = the fold of row j. Rows have `size` elements and begin `step` elements apart.
  void (*rows)(const std::byte* x, std::int64_t step, std::int64_t size, std::int64_t rows,
               std::byte* y) = nullptr;
  /// Folds `count` more elements of a row of at least kMinInterleaved into its parts. Unless these
  /// are the row's last, `count` must be a multiple of kMaxParts.
  void (*add)(std::byte* parts, const std::byte* x, std::int64_t count, bool is_first) = nullptr;
  /// As add, of x - *shift. Only of sums of squares.
  void (*add_shifted)(std::byte* parts, const std::byte* x, const std::byte* shift,
                      std::int64_t count, bool is_first) = nullptr;
  /// As add, of exp(x - *shift), which is stored in `out` unless that is null. Only of sums, where
  /// no x is greater than *shift, and on machines where it is faster than two steps.
  void (*add_exp)(std::byte* parts, const std::byte* x, const std::byte* shift, std::byte* out,
                  std::int64_t count, bool is_first) = nullptr;
  /// *y = the parts' fold.
  void (*finish)(const std::byte* parts, std::byte* y) = nullptr;
  /// Folds rows across: into sums[j], the element j < count of each of `rows` rows, which begin
  /// `step` elements apart. Null for integers.
  void (*lanes)(std::byte* sums, const std::byte* x, std::int64_t step, std::int64_t rows,
                std::int64_t count) = nullptr;
};

}  // namespace scanloom::kernels
