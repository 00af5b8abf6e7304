#include "kernels/element_moves.h"

#include <type_traits>

#include "tensor/visit.h"

namespace scanloom::kernels {
namespace {

using tensor::ScatterReduction;

/// Whether `at` is an index of so many elements. A negative one, which counts from the end, becomes
/// the usual one: indices are compared once unless they are negative.
inline bool is_index(std::int64_t& at, std::int64_t size) {
  const auto elements = static_cast<std::uint64_t>(size);
  if (static_cast<std::uint64_t>(at) < elements) [[likely]]
    return true;
  const std::uint64_t from_end = static_cast<std::uint64_t>(at) + elements;
  at = static_cast<std::int64_t>(from_end);
  return from_end < elements;
}

template <class Index, class Move>
std::int64_t move_row(const ElementRow& row) {
  // Copies: otherwise every store might change them.
  const std::int64_t size = row.size, count = row.count, stride = row.stride;
  const std::int64_t indexed_step = row.indexed_step, other_step = row.other_step;
  const std::int64_t index_step = row.index_step;
  const std::byte* from = row.indices;
  std::byte *indexed = row.indexed, *other = row.other;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t at = *reinterpret_cast<const Index*>(from);
    if (!is_index(at, size)) return i;
    Move::move(indexed + at * stride, other);
    from += index_step;
    indexed += indexed_step;
    other += other_step;
  }
  return count;
}

/// The same where indices, elements that are not indexed, and those along the indexed axis are
/// adjacent, and all are indexed from one element on.
template <class Index, class Move>
std::int64_t move_adjacent(const ElementRow& row) {
  constexpr std::int64_t kBytes = sizeof(typename Move::Element);
  const std::int64_t size = row.size, count = row.count;
  const auto* const indices = reinterpret_cast<const Index*>(row.indices);
  std::byte *const indexed = row.indexed, *const other = row.other;
#pragma GCC unroll 4
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t at = indices[i];
    if (!is_index(at, size)) return i;
    Move::move(indexed + at * kBytes, other + i * kBytes);
  }
  return count;
}

template <class Index, class Move>
std::int64_t move_each(const ElementRow& row) {
  if constexpr (Move::kOften) {
    constexpr std::int64_t kBytes = sizeof(typename Move::Element);
    if (row.stride == kBytes && row.other_step == kBytes && row.indexed_step == 0 &&
        row.index_step == std::int64_t{sizeof(Index)})
      return move_adjacent<Index, Move>(row);
  }
  return move_row<Index, Move>(row);
}

template <class T>
struct GatherElement {
  using Element = T;
  static constexpr bool kOften = true;
  static void move(const std::byte* indexed, std::byte* other) {
    *reinterpret_cast<T*>(other) = *reinterpret_cast<const T*>(indexed);
  }
};

template <class T>
struct ScatterElement {
  using Element = T;
  static constexpr bool kOften = true;
  static void move(std::byte* indexed, const std::byte* other) {
    *reinterpret_cast<T*>(indexed) = *reinterpret_cast<const T*>(other);
  }
};

template <class T, ScatterReduction kReduction>
struct CombineElement {
  using Element = T;
  static constexpr bool kOften = false;
  static void move(std::byte* indexed, const std::byte* other) {
    T& there = *reinterpret_cast<T*>(indexed);
    there = tensor::combine(kReduction, there, *reinterpret_cast<const T*>(other));
  }
};

template <class Move>
MoveElementsFn with_index(bool wide) {
  return wide ? move_each<std::int64_t, Move> : move_each<std::int32_t, Move>;
}

template <template <class> class Move>
MoveElementsFn of_bytes(std::size_t bytes, bool wide) {
  switch (bytes) {
    case 1:
      return with_index<Move<std::uint8_t>>(wide);
    case 2:
      return with_index<Move<std::uint16_t>>(wide);
    case 4:
      return with_index<Move<std::uint32_t>>(wide);
    case 8:
      return with_index<Move<std::uint64_t>>(wide);
    default:
      return nullptr;
  }
}

template <class T>
MoveElementsFn combine_of_type(ScatterReduction reduction, bool wide) {
  switch (reduction) {
    case ScatterReduction::none:
      return nullptr;
    case ScatterReduction::add:
      return with_index<CombineElement<T, ScatterReduction::add>>(wide);
    case ScatterReduction::mul:
      return with_index<CombineElement<T, ScatterReduction::mul>>(wide);
    case ScatterReduction::max:
      return with_index<CombineElement<T, ScatterReduction::max>>(wide);
    case ScatterReduction::min:
      return with_index<CombineElement<T, ScatterReduction::min>>(wide);
  }
  return nullptr;
}

}  // namespace

MoveElementsFn gather_elements_move(std::size_t bytes, bool wide) {
  return of_bytes<GatherElement>(bytes, wide);
}

MoveElementsFn scatter_elements_move(std::size_t bytes, bool wide) {
  return of_bytes<ScatterElement>(bytes, wide);
}

MoveElementsFn combine_elements_move(DType dtype, ScatterReduction reduction, bool wide) {
  return tensor::visit_dtype(dtype, [&]<class T>(std::type_identity<T>) -> MoveElementsFn {
    if constexpr (std::is_arithmetic_v<T> || tensor::SmallFloatType<T>)
      return combine_of_type<T>(reduction, wide);
    else
      return nullptr;
  });
}

}  // namespace scanloom::kernels
