#include <algorithm>
#include <numeric>
#include <type_traits>

#include "opmath/element_rank.h"
#include "ops/index/element_order.h"
#include "ops/indices.h"
#include "ops/lift_rules.h"
#include "ops/lines.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "ops/step_rules.h"
#include "tensor/paced_poll.h"
#include "tensor/visit.h"

namespace scanloom::ops {
namespace {
namespace topk {

using tensor::Dim;
using tensor::Operand;
using tensor::Type;

constexpr int kAxis = 0;
constexpr int kLargest = 1;

Expected<Dim> kept_size(ir::InferCtx& ctx, Dim size) {
  SCANLOOM_CHECK_OK(check_elements(ctx, 1, 1, "k"));
  const auto given = ctx.integers(1);
  if (!given || given->size() != 1) return ctx.dims().fresh();
  const Dim kept = given->front();
  if (kept.is_constant() && kept.value() < 0) return invalid_model("k is {}", kept.value());
  if (kept.is_constant() && size.is_constant() && kept.value() > size.value())
    return invalid_model("k is {}, but the axis has {} elements", kept.value(), size.value());
  return kept;
}

Expected<void> infer(ir::InferCtx& ctx) {
  const Type& x = ctx.in(0);
  SCANLOOM_CHECK_OK(check_list(ctx, 1, "k"));
  if (!x.ranked) {
    ctx.set(0, Type::unranked(x.dtype));
    ctx.set(1, Type::unranked(DType::i64));
    return {};
  }
  SCANLOOM_TRY(const int axis, ctx.axis(ctx.attr(kAxis).integer(), x.rank()));
  std::vector<Dim> sizes = x.dims;
  Dim& along = sizes[static_cast<std::size_t>(axis)];
  SCANLOOM_TRY(along, kept_size(ctx, along));
  ctx.set(0, x.dtype, sizes);
  ctx.set(1, DType::i64, std::move(sizes));
  return {};
}

/// One line of the results. The best elements so far form a heap with the worst on top.
template <class T>
struct Kept {
  T* values;
  std::int64_t* indices;
  std::int64_t value_step, index_step;
  bool largest;

  [[nodiscard]] T value(std::int64_t i) const { return values[i * value_step]; }
  [[nodiscard]] std::int64_t index(std::int64_t i) const { return indices[i * index_step]; }
  void set(std::int64_t i, T value, std::int64_t index) const {
    values[i * value_step] = value;
    indices[i * index_step] = index;
  }
  /// Whether (a, a_index) comes before (b, b_index) in the result.
  [[nodiscard]] bool before(T a, std::int64_t a_index, T b, std::int64_t b_index) const {
    const int order = largest ? compare(b, a) : compare(a, b);
    return order != 0 ? order < 0 : a_index < b_index;
  }

  /// Inserts (value, index) into the heap of `count` elements, whose position `hole` is free.
  void sift_down(std::int64_t hole, std::int64_t count, T value, std::int64_t index) const {
    while (true) {
      std::int64_t child = 2 * hole + 1;
      if (child >= count) break;
      if (child + 1 < count && before(this->value(child), this->index(child),
                                      this->value(child + 1), this->index(child + 1)))
        ++child;
      if (!before(value, index, this->value(child), this->index(child))) break;
      set(hole, this->value(child), this->index(child));
      hole = child;
    }
    set(hole, value, index);
  }
};

template <class T>
void select(const Kept<T>& kept, std::int64_t k, const T* line, std::int64_t step,
            std::int64_t size) {
  for (std::int64_t i = 0; i < k; ++i) kept.set(i, line[i * step], i);
  for (std::int64_t i = k / 2 - 1; i >= 0; --i) kept.sift_down(i, k, kept.value(i), kept.index(i));
  for (std::int64_t i = k; i < size && k > 0; ++i)
    if (kept.before(line[i * step], i, kept.value(0), kept.index(0)))
      kept.sift_down(0, k, line[i * step], i);
  for (std::int64_t count = k - 1; count > 0; --count) {
    const T value = kept.value(count);
    const std::int64_t index = kept.index(count);
    kept.set(count, kept.value(0), kept.index(0));
    kept.sift_down(0, count, value, index);
  }
}

/// Types for which a value and its index in a line fit in one number.
template <class T>
concept Packed = sizeof(T) <= 4 && (std::is_integral_v<T> || std::is_same_v<T, float>);

/// Sorts a whole line. Sorts the indices in place: as keys with the rank of the element in the
/// upper 32 bits if both fit, otherwise by comparing elements. Precondition: the indices are
/// contiguous.
template <class T>
void sort_line(const Kept<T>& kept, const T* line, std::int64_t step, std::int64_t size) {
  std::int64_t* const first = kept.indices;
  bool is_packed = false;
  if constexpr (Packed<T>) {
    is_packed = size <= std::int64_t{1} << 32;
    if (is_packed) {
      auto* const keys = reinterpret_cast<std::uint64_t*>(first);
      for (std::int64_t i = 0; i < size; ++i) {
        const std::uint32_t rank = rank_of(line[i * step]);
        const std::uint64_t high = kept.largest ? ~rank : rank;
        keys[i] = high << 32 | static_cast<std::uint64_t>(i);
      }
      std::sort(keys, keys + size);
      for (std::int64_t i = 0; i < size; ++i) keys[i] &= 0xffffffff;
    }
  }
  if (!is_packed) {
    std::iota(first, first + size, std::int64_t{0});
    std::sort(first, first + size, [&](std::int64_t a, std::int64_t b) {
      return kept.before(line[a * step], a, line[b * step], b);
    });
  }
  for (std::int64_t i = 0; i < size; ++i) kept.values[i * kept.value_step] = line[first[i] * step];
}

template <class T>
void select_lines(const tensor::Call& call) {
  const Operand &x = call.in(0), &values = call.out(0), &indices = call.out(1);
  const int axis = checked_axis(call.attrs[kAxis], x.rank);
  const bool largest = call.attrs[kLargest].integer() != 0;
  tensor::PacedPoll poll(call);
  for_each_line<3>(x.shape(), axis, {strides_of(x), strides_of(values), strides_of(indices)},
                   [&](const auto& at) {
                     if (poll.stops(x.dims[axis])) return;
                     const Kept<T> kept{values.data<T>() + at[1],
                                        indices.data<std::int64_t>() + at[2], values.strides[axis],
                                        indices.strides[axis], largest};
                     const T* const line = x.data<const T>() + at[0];
                     const std::int64_t k = values.dims[axis], size = x.dims[axis];
                     if (k == size && kept.index_step == 1)
                       sort_line(kept, line, x.strides[axis], size);
                     else
                       select(kept, k, line, x.strides[axis], size);
                   });
}

tensor::Status reference(const tensor::Call& call) noexcept {
  tensor::visit_dtype(call.in(0).dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (tensor::RealOrInteger<T>) select_lines<T>(call);
  });
  return call.ok_or_stopped();
}

// Asking for more elements than the axis has would be an error that no step may reach.
bool can_lift(ir::Module& module, const ir::Node& node, const std::vector<bool>& varies) {
  if (!can_lift_along_axis(module, node, varies)) return false;
  const auto axis = static_cast<std::size_t>(*attribute_axis(module, node));
  return type_of(module, node).dims[axis].is_constant() && integers_of(module, node, 1).has_value();
}

}  // namespace topk
}  // namespace

constinit const ir::OpDef topk_op{
    .name = "topk",
    .doc =
        "The k greatest elements along `axis`, or the least if not `largest`, best first, and "
        "their indices. NaN counts as the greatest; among equals the first index wins. They are "
        "sorted whether or not `sorted` asks for it.",
    .inputs = {{"x", ir::Accept::numeric},
               {.name = "k", .accept = ir::Accept::index, .decides_sizes = true}},
    .outputs = {"values", "indices"},
    .attrs = {{"axis", tensor::AttrKind::integer},
              {"largest", tensor::AttrKind::integer},
              {"sorted", tensor::AttrKind::integer}},
    .infer = topk::infer,
    .reference = topk::reference,
    .batching = ir::Batching::call,
    .steps = {.axis = steps_along_axis},
    .lifting = {topk::can_lift, lift_along_axis},
};

}  // namespace scanloom::ops
