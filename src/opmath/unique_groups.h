// Finding equal elements, or equal slices, by sorting: stable passes over the bytes of ranks that
// differ at all, so that small integers take one pass. Used where sizes are inferred and by the
// kernel unique.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "opmath/element_rank.h"
#include "tensor/shape.h"

namespace scanloom {

/// A slice by number, and the rank of one of its elements.
template <class Rank>
struct RankedSlice {
  using Number = std::conditional_t<sizeof(Rank) == 4, std::uint32_t, std::int64_t>;
  Rank rank = 0;
  Number number = 0;
};
template <Ranked T>
using RankedSliceOf = RankedSlice<RankOf<T>>;

/// The most slices that can be numbered.
template <Ranked T>
inline constexpr std::int64_t kMaxRankedSlices =
    sizeof(RankOf<T>) == 4 ? std::int64_t{1} << 32 : std::int64_t{1} << 62;

/// Slices of equal shape, `step` elements apart; single elements if they have no axes. They compare
/// by their elements in row-major order.
template <Ranked T>
struct SliceList {
  const T* data = nullptr;
  std::int64_t count = 0, step = 1;
  tensor::Shape dims, strides;

  [[nodiscard]] std::int64_t elements() const { return dims.elements(); }
  /// The offset within a slice of its element with this row-major number.
  [[nodiscard]] std::int64_t offset(std::int64_t element) const {
    std::int64_t result = 0;
    for (int axis = dims.rank() - 1; axis >= 0; --axis) {
      result += element % dims[axis] * strides[axis];
      element /= dims[axis];
    }
    return result;
  }
  /// Returns a value below, equal to or above 0.
  [[nodiscard]] int compare(std::int64_t a, std::int64_t b) const {
    const std::int64_t size = elements();
    for (std::int64_t i = 0; i < size; ++i) {
      const std::int64_t at = offset(i);
      const auto x = rank_of(data[a * step + at]), y = rank_of(data[b * step + at]);
      if (x != y) return x < y ? -1 : 1;
    }
    return 0;
  }
};

/// Sorts by rank_in(entry); equal ranks keep their order. Both lists have room for `count`; the
/// result is in `from`, which may have been exchanged with `other`.
template <class Entry, class RankIn>
void sort_by_rank(Entry*& from, Entry*& other, std::int64_t count, const RankIn& rank_in) {
  using Rank = decltype(rank_in(*from));
  constexpr int kBits = 8, kDigits = 8 * sizeof(Rank) / kBits;
  constexpr Rank kMask = (1 << kBits) - 1;
  constexpr std::int64_t kFew = 24;
  if (count <= kFew) {
    for (std::int64_t i = 1; i < count; ++i) {
      const Entry entry = from[i];
      std::int64_t j = i;
      for (; j > 0 && rank_in(entry) < rank_in(from[j - 1]); --j) from[j] = from[j - 1];
      from[j] = entry;
    }
    return;
  }
  // The digits are counted in one pass: sorting does not change how often each occurs.
  std::array<std::array<std::int64_t, kMask + 1>, kDigits> counts{};
  for (std::int64_t i = 0; i < count; ++i)
    for (int digit = 0; digit < kDigits; ++digit)
      ++counts[static_cast<std::size_t>(digit)][rank_in(from[i]) >> (digit * kBits) & kMask];
  for (int digit = 0; digit < kDigits; ++digit) {
    auto& ends = counts[static_cast<std::size_t>(digit)];
    const int shift = digit * kBits;
    if (ends[rank_in(from[0]) >> shift & kMask] == count) continue;
    std::int64_t before = 0;
    for (std::int64_t& end : ends) before += std::exchange(end, before);
    for (std::int64_t i = 0; i < count; ++i)
      other[ends[rank_in(from[i]) >> shift & kMask]++] = from[i];
    std::swap(from, other);
  }
}

/// Returns the slices in order, the first of equal ones first, in one of the two lists, which have
/// room for all of them. Precondition: at most kMaxRankedSlices.
template <Ranked T>
RankedSliceOf<T>* sort_slices(const SliceList<T>& slices, RankedSliceOf<T>* list,
                              RankedSliceOf<T>* other) {
  using Slice = RankedSliceOf<T>;
  for (std::int64_t i = 0; i < slices.count; ++i)
    list[i].number = static_cast<typename Slice::Number>(i);
  // Slices of many elements mostly differ in the first few.
  constexpr std::int64_t kMaxPasses = 16;
  const std::int64_t elements = slices.elements();
  if (elements > kMaxPasses) {
    std::sort(list, list + slices.count, [&](const Slice& a, const Slice& b) {
      const int order = slices.compare(a.number, b.number);
      return order != 0 ? order < 0 : a.number < b.number;
    });
    return list;
  }
  for (std::int64_t element = elements; element-- > 0;) {
    const T* const at = slices.data + slices.offset(element);
    for (std::int64_t i = 0; i < slices.count; ++i)
      list[i].rank = rank_of(at[static_cast<std::int64_t>(list[i].number) * slices.step]);
    sort_by_rank(list, other, slices.count, [](const Slice& slice) { return slice.rank; });
  }
  return list;
}

/// Whether entry i > 0 of a sorted list equals the one before.
template <Ranked T>
[[nodiscard]] bool repeats(const SliceList<T>& slices, const RankedSliceOf<T>* sorted,
                           std::int64_t i) {
  if (slices.elements() == 1) return sorted[i].rank == sorted[i - 1].rank;
  return slices.compare(sorted[i - 1].number, sorted[i].number) == 0;
}

}  // namespace scanloom
