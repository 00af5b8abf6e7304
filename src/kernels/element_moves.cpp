#include "kernels/element_moves.h"

#include <type_traits>

#include "tensor/visit.h"

namespace scanloom::kernels {
namespace {

using tensor::ScatterReduction;

/// kAdjacent: indices, elements that are not indexed, and those along the indexed axis are
/// adjacent.
template <class Index, class Move, bool kAdjacent>
std::int64_t move_row(const ElementRow& row) {
  constexpr std::int64_t kBytes = sizeof(typename Move::Element);
  // Copies: otherwise every store might change them.
  const std::int64_t size = row.size, count = row.count, indexed_step = row.indexed_step;
  const std::int64_t stride = kAdjacent ? kBytes : row.stride;
  const std::int64_t other_step = kAdjacent ? kBytes : row.other_step;
  const std::int64_t index_step = kAdjacent ? std::int64_t{sizeof(Index)} : row.index_step;
  const std::byte* from = row.indices;
  std::byte *indexed = row.indexed, *other = row.other;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t at = *reinterpret_cast<const Index*>(from);
    at += at < 0 ? size : 0;
    if (static_cast<std::uint64_t>(at) >= static_cast<std::uint64_t>(size)) return i;
    Move::move(indexed + at * stride, other);
    from += index_step;
    indexed += indexed_step;
    other += other_step;
  }
  return count;
}

template <class Index, class Move>
std::int64_t move_each(const ElementRow& row) {
  if constexpr (Move::kOften) {
    constexpr std::int64_t kBytes = sizeof(typename Move::Element);
    if (row.stride == kBytes && row.other_step == kBytes &&
        row.index_step == std::int64_t{sizeof(Index)})
      return move_row<Index, Move, true>(row);
  }
  return move_row<Index, Move, false>(row);
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
