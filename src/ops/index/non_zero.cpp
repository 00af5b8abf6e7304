#include <algorithm>
#include <array>
#include <numeric>

#include "base/thread_pool.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "tensor/visit.h"

namespace scanloom::ops {
namespace {
namespace non_zero {

using tensor::Dim;
using tensor::Operand;
using tensor::Type;

template <class T>
concept Countable = tensor::RealOrInteger<T> || std::is_same_v<T, tensor::StringRef>;

/// For strings, the empty string counts as zero.
template <Countable T>
bool is_zero(const T& value) {
  if constexpr (std::is_same_v<T, tensor::StringRef>)
    return value.view().empty();
  else
    return tensor::widen(value) == 0;
}

/// Counts the elements that are not zero. The counts of a block fit in a byte, so that bytes are
/// counted in vectors of bytes.
template <Countable T>
std::int64_t count_of(const T* x, std::int64_t size, std::int64_t step) {
  constexpr std::int64_t kBlock = 128;
  using Count = std::conditional_t<sizeof(T) == 1, std::uint8_t, std::int32_t>;
  std::int64_t count = 0;
  for (std::int64_t first = 0; first < size; first += kBlock) {
    const std::int64_t some = std::min(kBlock, size - first);
    const T* const from = x + first * step;
    Count found = 0;
    if (step == 1)
      for (std::int64_t i = 0; i < some; ++i) found += static_cast<Count>(!is_zero(from[i]));
    else
      for (std::int64_t i = 0; i < some; ++i) found += static_cast<Count>(!is_zero(from[i * step]));
    count += found;
  }
  return count;
}

std::int64_t count_in(const tensor::Tensor& x) {
  std::int64_t count = 0;
  tensor::visit_dtype(x.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (Countable<T>) count = count_of(static_cast<const T*>(x.data()), x.elements(), 1);
  });
  return count;
}

Expected<void> infer(ir::InferCtx& ctx) {
  const Type& x = ctx.in(0);
  if (dtype_kind(x.dtype) == DTypeKind::complex)
    return fail(Code::unsupported, "the input has elements of type {}", dtype_name(x.dtype));
  const tensor::Tensor* known = ctx.constant(0);
  const Dim count = known != nullptr ? Dim(count_in(*known)) : ctx.dims().fresh();
  ctx.set(0, DType::i64, {x.ranked ? Dim(x.rank()) : ctx.dims().fresh(), count});
  return {};
}

/// Shares of the elements that threads take, and the elements from which that pays.
constexpr std::int64_t kShares = 8, kMinSharedElements = 64 * 1024;

/// Calls f(index of the other axes, first position along the last one, number of positions) for the
/// elements from `begin` to `end` in row-major order.
template <class F>
void for_each_run(const Operand& x, std::int64_t begin, std::int64_t end, F&& f) {
  const int last = x.rank - 1;
  const std::int64_t size = x.dims[last];
  std::array<std::int64_t, tensor::kMaxRank> index{};
  for (std::int64_t row = begin / size, axis = last; axis-- > 0; row /= x.dims[axis])
    index[static_cast<std::size_t>(axis)] = row % x.dims[axis];
  std::int64_t first = begin % size;
  while (begin < end) {
    const std::int64_t count = std::min(size - first, end - begin);
    f(index.data(), first, count);
    begin += count;
    first = 0;
    for (int axis = last; axis-- > 0; index[static_cast<std::size_t>(axis)] = 0)
      if (++index[static_cast<std::size_t>(axis)] < x.dims[axis]) break;
  }
}

template <Countable T>
class Finder {
 public:
  Finder(const Operand& x, const Operand& y) : x_(x), y_(y), last_(x.rank - 1) {}

  [[nodiscard]] std::int64_t count(std::int64_t begin, std::int64_t end) const {
    std::int64_t count = 0;
    for_each_run(x_, begin, end,
                 [&](const std::int64_t* index, std::int64_t first, std::int64_t some) {
                   count += count_of(row_of(index) + first * step(), some, step());
                 });
    return count;
  }

  /// Writes the columns from `found` to `limit`: those of the elements from `begin` to `end` that
  /// are not zero, row by row along the last axis.
  void find(std::int64_t begin, std::int64_t end, std::int64_t found, std::int64_t limit) const {
    const std::int64_t column = y_.strides[1];
    std::int64_t* const y_last = y_.data<std::int64_t>() + last_ * y_.strides[0];
    for_each_run(x_, begin, end,
                 [&](const std::int64_t* index, std::int64_t first, std::int64_t some) {
                   const T* const row = row_of(index);
                   const std::int64_t before = found, x_step = step();
                   // Every number is written, and overwritten by the next one unless its element
                   // counts: branches on the elements would be mispredicted.
                   for (std::int64_t i = first; i < first + some && found < limit; ++i) {
                     y_last[found * column] = i;
                     found += static_cast<std::int64_t>(!is_zero(row[i * x_step]));
                   }
                   for (int axis = 0; axis < last_; ++axis) {
                     std::int64_t* const to = y_.data<std::int64_t>() + axis * y_.strides[0];
                     for (std::int64_t i = before; i < found; ++i) to[i * column] = index[axis];
                   }
                 });
  }

 private:
  [[nodiscard]] std::int64_t step() const { return x_.strides[last_]; }
  [[nodiscard]] const T* row_of(const std::int64_t* index) const {
    const T* row = x_.data<const T>();
    for (int axis = 0; axis < last_; ++axis) row += index[axis] * x_.strides[axis];
    return row;
  }

  const Operand& x_;
  const Operand& y_;
  const int last_;
};

/// Threads count the elements of their shares first, and so know where their columns begin.
template <Countable T>
void find_all(const tensor::Call& call) {
  const Operand &x = call.in(0), &y = call.out(0);
  if (x.rank == 0) return;  // a column without numbers
  const std::int64_t elements = x.elements(), total = y.dims[1];
  if (elements == 0) return;
  const Finder<T> finder(x, y);
  if (call.max_threads == 1 || elements < kMinSharedElements)
    return finder.find(0, elements, 0, total);
  const auto begin = [&](std::int64_t share) { return share * elements / kShares; };
  std::array<std::int64_t, kShares + 1> found{};
  parallel_for(kShares, call.max_threads, [&](std::int64_t share) {
    found[static_cast<std::size_t>(share) + 1] = finder.count(begin(share), begin(share + 1));
  });
  std::partial_sum(found.begin(), found.end(), found.begin());
  parallel_for(kShares, call.max_threads, [&](std::int64_t share) {
    const auto at = static_cast<std::size_t>(share);
    finder.find(begin(share), begin(share + 1), found[at], std::min(found[at + 1], total));
  });
}

tensor::Status reference(const tensor::Call& call) noexcept {
  tensor::visit_dtype(call.in(0).dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (Countable<T>) find_all<T>(call);
  });
  return tensor::Status::ok;
}

}  // namespace non_zero
}  // namespace

constinit const ir::OpDef non_zero_op{
    .name = "non_zero",
    .doc =
        "The indices of all elements that are not 0 (of strings, not empty), in row-major order: "
        "one column each, one row per axis of x.",
    .inputs = {{.name = "x", .accept = ir::Accept::tensor, .decides_sizes = true}},
    .outputs = {"indices"},
    .infer = non_zero::infer,
    .reference = non_zero::reference,
};

}  // namespace scanloom::ops
