// Equal slices are found by sorting. The lists needed for that are kept in the results.
#include <algorithm>

#include "opmath/unique_groups.h"
#include "ops/index/element_order.h"
#include "ops/indices.h"
#include "ops/lines.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "tensor/strided_copy.h"

namespace scanloom::ops {
namespace {
namespace unique {

using tensor::Dim;
using tensor::Operand;
using tensor::Shape;
using tensor::Type;

constexpr int kAxis = 0;
constexpr int kSorted = 1;

template <class T>
int order_of(const T& a, const T& b) {
  if constexpr (tensor::is_complex_type<T>) {
    const int first = compare(a.real(), b.real());
    return first != 0 ? first : compare(a.imag(), b.imag());
  } else if constexpr (std::is_same_v<T, tensor::StringRef>) {
    return a.view().compare(b.view());
  } else {
    return compare(a, b);
  }
}

/// The elements of a tensor, or its slices along an axis, by number.
template <class T>
class Slices {
 public:
  /// axis -1: the elements in row-major order.
  Slices(const T* data, const Shape& dims, const Shape& strides, int axis)
      : data_(data), dims_(dims), strides_(strides), axis_(axis) {
    if (axis < 0) return;
    step_ = strides[axis];
    count_ = dims[axis];
    dims_.erase(axis);
    strides_.erase(axis);
  }
  [[nodiscard]] std::int64_t count() const { return axis_ < 0 ? dims_.elements() : count_; }

  /// Returns a value below, equal to or above 0. Slices compare by their elements in row-major
  /// order.
  [[nodiscard]] int compare(std::int64_t a, std::int64_t b) const {
    if (axis_ < 0) return order_of(data_[offset(a)], data_[offset(b)]);
    tensor::RowCursor<1> rows(dims_.dims());
    rows.add(strides_.data());
    for (rows.start(); !rows.done(); rows.next())
      for (std::int64_t i = 0; i < rows.length(); ++i) {
        const T* const at = data_ + rows.offset(0) + i * rows.step(0);
        if (const int order = order_of(at[a * step_], at[b * step_]); order != 0) return order;
      }
    return 0;
  }
  /// The sort order: equal slices are ordered by number.
  [[nodiscard]] bool before(std::int64_t a, std::int64_t b) const {
    const int order = compare(a, b);
    return order != 0 ? order < 0 : a < b;
  }
  /// Returns the offset of element i if there is no axis.
  [[nodiscard]] std::int64_t offset(std::int64_t i) const {
    std::int64_t result = 0;
    for (int axis = dims_.rank() - 1; axis >= 0; --axis) {
      result += i % dims_[axis] * strides_[axis];
      i /= dims_[axis];
    }
    return result;
  }

 private:
  const T* data_;
  Shape dims_, strides_;
  int axis_;
  std::int64_t step_ = 0, count_ = 0;
};

int unique_axis(const tensor::Attr& attr, int rank) {
  return attr.present() ? checked_axis(attr, rank) : -1;
}

/// The count of different elements: their ranks alone are sorted.
template <class T>
std::int64_t count_elements(const tensor::Tensor& x) {
  using Rank = RankOf<T>;
  const auto count = static_cast<std::size_t>(x.elements());
  std::vector<Rank> memory(2 * count);
  Rank *ranks = memory.data(), *other = memory.data() + count;
  std::ranges::transform(x.as<T>(), ranks, [](T element) { return rank_of(element); });
  sort_by_rank(ranks, other, x.elements(), [](Rank rank) { return rank; });
  return std::unique(ranks, ranks + count) - ranks;
}

/// The count by the algorithm of the kernel, which is much faster than comparisons.
template <class T>
std::int64_t count_ranked(const tensor::Tensor& x, int axis) {
  SliceList<T> slices{.data = static_cast<const T*>(x.data()),
                      .count = x.shape()[axis],
                      .dims = x.shape(),
                      .strides = tensor::contiguous_strides(x.shape())};
  slices.step = slices.strides[axis];
  slices.dims.erase(axis);
  slices.strides.erase(axis);
  std::vector<RankedSliceOf<T>> memory(2 * static_cast<std::size_t>(slices.count));
  const auto* const order = sort_slices(slices, memory.data(), memory.data() + slices.count);
  std::int64_t unique = 0;
  for (std::int64_t i = 0; i < slices.count; ++i)
    unique += i == 0 || !repeats(slices, order, i) ? 1 : 0;
  return unique;
}

std::int64_t count_unique(const tensor::Tensor& x, int axis) {
  // Slices without elements are all equal.
  if (x.elements() == 0) return axis < 0 ? 0 : std::min<std::int64_t>(x.shape()[axis], 1);
  std::int64_t unique = 0;
  tensor::visit_dtype(x.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (Ranked<T>) {
      const std::int64_t slices = axis < 0 ? x.elements() : x.shape()[axis];
      if (slices <= kMaxRankedSlices<T>) {
        unique = axis < 0 ? count_elements<T>(x) : count_ranked<T>(x, axis);
        return;
      }
    }
    const Slices<T> slices(static_cast<const T*>(x.data()), x.shape(),
                           tensor::contiguous_strides(x.shape()), axis);
    std::vector<std::int64_t> order(static_cast<std::size_t>(slices.count()));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
    std::ranges::sort(order, [&](auto a, auto b) { return slices.before(a, b); });
    for (std::size_t i = 0; i < order.size(); ++i)
      unique += i == 0 || slices.compare(order[i - 1], order[i]) != 0 ? 1 : 0;
  });
  return unique;
}

Expected<void> infer(ir::InferCtx& ctx) {
  const Type& x = ctx.in(0);
  const tensor::Attr& given = ctx.attr(kAxis);
  if (!x.ranked) {
    ctx.set(0, given.present() ? Type::unranked(x.dtype) : ctx.fresh(x.dtype, 1));
    for (int i = 1; i < 4; ++i) ctx.set(i, ctx.fresh(DType::i64, 1));
    return {};
  }
  int axis = -1;
  if (given.present()) {
    SCANLOOM_TRY(axis, ctx.axis(given.integer(), x.rank()));
  }
  const tensor::Tensor* const known = ctx.constant(0);
  const Dim unique = known != nullptr ? Dim(count_unique(*known, axis)) : ctx.dims().fresh();
  const Dim all = axis < 0 ? product(ctx, x.dims) : x.dims[static_cast<std::size_t>(axis)];
  std::vector<Dim> sizes = {unique};
  if (axis >= 0) {
    sizes = x.dims;
    sizes[static_cast<std::size_t>(axis)] = unique;
  }
  ctx.set(0, x.dtype, std::move(sizes));
  ctx.set(1, DType::i64, {unique});
  ctx.set(2, DType::i64, {all});
  ctx.set(3, DType::i64, {unique});
  return {};
}

/// A result with one axis.
struct List {
  std::int64_t *data, step, size;
  explicit List(const Operand& operand)
      : data(operand.data<std::int64_t>()), step(operand.strides[0]), size(operand.dims[0]) {}
  std::int64_t& operator[](std::int64_t i) const { return data[i * step]; }
};

template <class Before>
void sift_down(const List& heap, std::int64_t hole, std::int64_t count, const Before& before) {
  const std::int64_t value = heap[hole];
  while (2 * hole + 1 < count) {
    std::int64_t child = 2 * hole + 1;
    if (child + 1 < count && before(heap[child], heap[child + 1])) ++child;
    if (!before(value, heap[child])) break;
    heap[hole] = heap[child];
    hole = child;
  }
  heap[hole] = value;
}

/// Heap sort: works on strided lists and allocates nothing.
template <class Before>
void sort(const List& list, const Before& before) {
  for (std::int64_t i = list.size / 2 - 1; i >= 0; --i) sift_down(list, i, list.size, before);
  for (std::int64_t count = list.size - 1; count > 0; --count) {
    std::swap(list[0], list[count]);
    sift_down(list, 0, count, before);
  }
}

/// Sets `indices` to the first slice of each group of equal slices, with groups in sort order.
template <class T>
void find_groups(const Slices<T>& slices, const List& order, const List& indices) {
  for (std::int64_t i = 0; i < order.size; ++i) order[i] = i;
  sort(order, [&](std::int64_t a, std::int64_t b) { return slices.before(a, b); });
  std::int64_t groups = 0;
  for (std::int64_t i = 0; i < order.size && groups < indices.size; ++i)
    if (i == 0 || slices.compare(order[i - 1], order[i]) != 0) indices[groups++] = order[i];
}

/// Returns the group, in sort order, that slice i belongs to.
template <class T>
std::int64_t group_of(const Slices<T>& slices, const List& indices, std::int64_t i) {
  std::int64_t low = 0, high = indices.size - 1;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (slices.compare(indices[middle], i) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// Numbers the groups in order of their first slices. inverse[i] is the first slice equal to i.
void number_by_first(const List& indices, const List& inverse, const List& counts) {
  std::int64_t groups = 0;
  for (std::int64_t i = 0; i < inverse.size; ++i) {
    const bool is_first = inverse[i] == i;
    const std::int64_t group = is_first ? groups++ : inverse[inverse[i]];
    if (is_first) {
      indices[group] = i;
      counts[group] = 0;
    }
    inverse[i] = group;
    ++counts[group];
  }
}

template <class T>
void find_unique(const tensor::Call& call, int axis) {
  const Operand& x = call.in(0);
  const List indices(call.out(1)), inverse(call.out(2)), counts(call.out(3));
  const Slices<T> slices(x.data<const T>(), x.shape(), strides_of(x), axis);
  find_groups(slices, inverse, indices);
  const bool sorted = call.attrs[kSorted].integer() != 0;
  for (std::int64_t i = 0; i < counts.size; ++i) counts[i] = 0;
  for (std::int64_t i = 0; i < inverse.size; ++i) {
    const std::int64_t group = group_of(slices, indices, i);
    inverse[i] = sorted ? group : indices[group];
    ++counts[group];
  }
  if (!sorted) number_by_first(indices, inverse, counts);
  if (axis >= 0) return;
  const Operand& y = call.out(0);
  for (std::int64_t i = 0; i < indices.size; ++i)
    y.data<T>()[i * y.strides[0]] = x.data<const T>()[slices.offset(indices[i])];
}

void copy_slices(const tensor::Call& call, int axis) {
  const Operand &x = call.in(0), &y = call.out(0);
  const List indices(call.out(1));
  Shape block = x.shape(), from = strides_of(x), to = strides_of(y);
  block.erase(axis);
  from.erase(axis);
  to.erase(axis);
  for (std::int64_t i = 0; i < indices.size; ++i)
    tensor::copy_strided(
        x.dtype, block.dims(),
        tensor::advance(x.data<std::byte>(), x.dtype, indices[i] * x.strides[axis]), from.data(),
        tensor::advance(y.data<std::byte>(), y.dtype, i * y.strides[axis]), to.data());
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const int axis = unique_axis(call.attrs[kAxis], call.in(0).rank);
  tensor::visit_dtype(call.in(0).dtype,
                      [&]<class T>(std::type_identity<T>) { find_unique<T>(call, axis); });
  if (axis >= 0) copy_slices(call, axis);
  return tensor::Status::ok;
}

}  // namespace unique
}  // namespace

constinit const ir::OpDef unique_op{
    .name = "unique",
    .doc =
        "The different elements of x, or its different slices along `axis`, `sorted` or in the "
        "order of their first places; those places; for each element or slice which one it equals; "
        "and how often each occurs. NaN equals NaN and is the greatest.",
    .inputs = {{.name = "x", .accept = ir::Accept::tensor, .decides_sizes = true}},
    .outputs = {"y", "indices", "inverse", "counts"},
    .attrs = {{"axis", tensor::AttrKind::integer, true}, {"sorted", tensor::AttrKind::integer}},
    .infer = unique::infer,
    .reference = unique::reference,
};

}  // namespace scanloom::ops
