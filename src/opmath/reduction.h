// The kinds of `reduce` that are one ordered fold: what to do with each element, and with the
// result at the end. Used by kernels and machine code.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "tensor/attr.h"

namespace scanloom::tensor {

/// The attributes of `reduce`, by index.
enum ReduceAttr : std::size_t { kReduceKind, kReduceAxes, kReduceKeepdims, kReduceEmptyIsAll };

struct Reduction {
  enum class Fold : std::uint8_t { sum, max, min, prod, sum_square, l1 };
  enum class Finish : std::uint8_t { none, mean, sqrt, log };

  std::string_view kind;
  Fold fold;
  Finish finish = Finish::none;
};

/// Sums of fewer elements are taken one after the other, from 0. Longer ones of floating point are
/// taken in kParts<W> parts: part p sums the elements p, p + kParts, p + 2 kParts ... in this
/// order, from 0. Then the second half of the parts is added to the first, half by half. Elements
/// are numbered in row-major order of the reduced axes. This holds for `sum`, `mean`, `sum_square`,
/// `l1`, `l2`, `log_sum` and `log_sum_exp`, and for softmax.
inline constexpr std::int64_t kMinInterleaved = 256;
/// 128 bytes of parts, as many as keep the adders of any machine busy.
template <class W>
inline constexpr std::int64_t kParts = 128 / static_cast<std::int64_t>(sizeof(W));
inline constexpr std::int64_t kMaxParts = 32;

/// A sum in this order. W: the type in which elements are added.
template <class W>
class OrderedSum {
 public:
  /// `count`: the number of elements that will be added.
  explicit OrderedSum(std::int64_t count)
      : mask_(std::is_floating_point_v<W> && count >= kMinInterleaved ? kParts<W> - 1 : 0) {}

  /// `plus`: addition in W.
  template <class Plus>
  void add(W value, Plus&& plus) {
    W& part = parts_[static_cast<std::size_t>(next_++ & mask_)];
    part = plus(part, value);
  }
  template <class Plus>
  W total(Plus&& plus) {
    for (std::int64_t width = (mask_ + 1) / 2; width >= 1; width /= 2)
      for (std::int64_t p = 0; p < width; ++p) {
        W& part = parts_[static_cast<std::size_t>(p)];
        part = plus(part, parts_[static_cast<std::size_t>(p + width)]);
      }
    return parts_[0];
  }

 private:
  std::array<W, kMaxParts> parts_{};
  std::int64_t mask_, next_ = 0;
};

/// nullptr for kinds that are not a fold.
const Reduction* find_reduction(std::string_view kind);

/// Whether an axis is among those of the attribute, counted from either end; all axes are if the
/// attribute is absent.
bool is_reduced(const Attr& axes, int axis, int rank);

}  // namespace scanloom::tensor
