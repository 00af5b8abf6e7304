// reduce: sums, maxima, minima and the like, each over its elements in row-major order as
// ops/reduce/reduce.cpp states. Several results are computed together, along a kept axis: in
// vectors if its elements are adjacent (for f32, also after transposing blocks of rows), otherwise
// as independent chains.
#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <memory>
#include <optional>
#include <type_traits>

#include "base/math/math.h"
#include "base/thread_pool.h"
#include "kernels/element_fns.h"
#include "kernels/kernel.h"
#include "kernels/line_axis.h"
#include "kernels/simd.h"
#include "opmath/reduction.h"
#include "tensor/paced_poll.h"
#include "tensor/scalar_arith.h"
#include "tensor/visit.h"

namespace scanloom::kernels {
namespace {
namespace reduce {

using tensor::Call;
using tensor::Operand;
using tensor::Reduction;
using tensor::Status;

using Fold = Reduction::Fold;
using Finish = Reduction::Finish;

/// Results computed together.
constexpr std::int64_t kLanes = 16;
// Short rows of adjacent elements of a block, of which several vectors are folded together while
// the next ones are fetched (row_folds.h); fewer, so that all threads have some.
constexpr std::int64_t kMaxRows = 256, kMinRows = 64;
/// Adjacent results of a block whose rows are folded across (RowFoldFns::lanes), and of a block of
/// long sums, which have several parts each; fewer, so that all threads have some.
constexpr std::int64_t kMaxAcross = 512, kMaxAcrossParts = 128, kMinAcross = 32;
/// Elements of each result that are transposed at a time; the least number for which that pays.
constexpr std::int64_t kTransposed = 32, kMinTransposed = 8;

/// Adjacent elements of one maximum or minimum that are compared at a time.
constexpr std::int64_t kColumns = 1024;

template <class T>
struct Axes {
  std::array<T, tensor::kMaxRank> list{};
  std::size_t count = 0;

  void add(const T& axis) { list[count++] = axis; }
};

struct ReduceSchedule;
using BlockFn = void (*)(const ReduceSchedule&, const std::byte* x, std::byte* y,
                         std::int64_t lanes);

struct ReduceSchedule {
  LineAxis lane;           ///< the kept axis along which results are computed together
  Axes<LineAxis> kept;     ///< the others
  Axes<LineAxis> reduced;  ///< joined, outermost first; at least one
  std::int64_t kept_count = 1, reduced_count = 1;
  std::int64_t bytes = 4;
  Finish finish = Finish::none;
  BlockFn block = nullptr;
  const SimdTables* simd = nullptr;
  ElementFn greater_or_less = nullptr;  ///< max or min of two columns of f32, in vectors
  RowFoldFns rows;                      ///< of adjacent elements, f32 or f64; null: none
  bool is_across = false;               ///< lanes are adjacent, and `rows` folds them

  /// Whether each result is the sum of several parts.
  [[nodiscard]] bool is_interleaved() const { return reduced_count >= tensor::kMinInterleaved; }
  std::int64_t block_lanes = kLanes;  ///< results of a block
  /// Results along `lane` are computed in so many blocks.
  [[nodiscard]] std::int64_t blocks() const { return (lane.size + block_lanes - 1) / block_lanes; }
};

template <class T>
using Wide = std::conditional_t<
    std::floating_point<T>, T,
    std::conditional_t<tensor::SmallFloatType<T>, float,
                       std::conditional_t<std::same_as<T, std::uint64_t>, T, std::int64_t>>>;

template <class W>
W add(W a, W b) {
  if constexpr (std::floating_point<W>)
    return a + b;
  else
    return static_cast<W>(static_cast<std::make_unsigned_t<W>>(a) +
                          static_cast<std::make_unsigned_t<W>>(b));
}
template <class W>
W multiply(W a, W b) {
  if constexpr (std::floating_point<W>)
    return a * b;
  else
    return static_cast<W>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
template <class W>
W absolute(W a) {
  if constexpr (std::floating_point<W>)
    return std::fabs(a);
  else
    return a < 0 ? multiply<W>(a, static_cast<W>(-1)) : a;
}

template <Fold kFold, class W>
W start(W first) {
  if constexpr (kFold == Fold::max || kFold == Fold::min) return first;
  return W(kFold == Fold::prod ? 1 : 0);
}

template <Fold kFold, class W>
W fold(W sum, W value) {
  if constexpr (kFold == Fold::prod) return multiply(sum, value);
  if constexpr (kFold == Fold::sum_square) return add(sum, multiply(value, value));
  if constexpr (kFold == Fold::l1) return add(sum, absolute(value));
  if constexpr (kFold == Fold::max && std::floating_point<W>)
    return tensor::arith::maximum(sum, value);
  if constexpr (kFold == Fold::max) return std::max(sum, value);
  if constexpr (kFold == Fold::min && std::floating_point<W>)
    return tensor::arith::minimum(sum, value);
  if constexpr (kFold == Fold::min) return std::min(sum, value);
  return add(sum, value);
}

template <class W>
W finish(const ReduceSchedule& plan, W sum) {
  if (plan.finish == Finish::mean) return sum / static_cast<W>(plan.reduced_count);
  if constexpr (std::floating_point<W>) {
    if (plan.finish == Finish::sqrt) return std::sqrt(sum);
    if (plan.finish == Finish::log) return math::log(sum);
  }
  return sum;
}

/// Calls f(first element) for each row of reduced elements, in row-major order.
template <class T, class F>
void for_each_row(const Axes<LineAxis>& reduced, const T* x, F&& f) {
  std::array<std::int64_t, tensor::kMaxRank> index{};
  const std::size_t outer = reduced.count - 1;
  while (true) {
    f(x);
    std::size_t axis = outer;
    for (; axis > 0; --axis) {
      const LineAxis& at = reduced.list[axis - 1];
      x += at.x;
      if (++index[axis - 1] < at.size) break;
      x -= at.x * at.size;
      index[axis - 1] = 0;
    }
    if (axis == 0) return;
  }
}

template <class T, Fold kFold>
constexpr bool kSumsInOrder =
    std::floating_point<Wide<T>> && kFold != Fold::max && kFold != Fold::min && kFold != Fold::prod;

/// Long sums of all lanes, which have several parts each.
template <class T, Fold kFold, std::int64_t kStep, std::int64_t kCount>
void long_sums_of(const ReduceSchedule& plan, const T* x, T* y, std::int64_t lanes) {
  using W = Wide<T>;
  constexpr std::int64_t kParts = tensor::kParts<W>;
  const std::int64_t count = kCount != 0 ? kCount : lanes;
  const std::int64_t step = kStep != 0 ? kStep : plan.lane.x;
  alignas(64) std::array<W, static_cast<std::size_t>(kParts * kLanes)> sums{};
  const auto row_of = [&](std::int64_t part) { return sums.data() + part * kLanes; };
  std::int64_t part = 0;
  const LineAxis& inner = plan.reduced.list[plan.reduced.count - 1];
  for_each_row(plan.reduced, x, [&](const T* row) {
    for (std::int64_t i = 0; i < inner.size; ++i, row += inner.x) {
      W* const to = row_of(part);
      part = (part + 1) % kParts;
      for (std::int64_t j = 0; j < count; ++j)
        to[j] = fold<kFold, W>(to[j], W(tensor::widen(row[j * step])));
    }
  });
  for (std::int64_t width = kParts / 2; width >= 1; width /= 2)
    for (std::int64_t i = 0; i < width * kLanes; ++i)
      sums[static_cast<std::size_t>(i)] += sums[static_cast<std::size_t>(i + width * kLanes)];
  for (std::int64_t j = 0; j < count; ++j)
    y[j * plan.lane.y] = tensor::narrow<T>(finish(plan, sums[static_cast<std::size_t>(j)]));
}

/// kStep: 1 if lanes of x are adjacent; 0: any step. kCount: lanes if all are used; 0: any number.
template <class T, Fold kFold, std::int64_t kStep, std::int64_t kCount>
void lanes_of(const ReduceSchedule& plan, const T* x, T* y, std::int64_t lanes) {
  using W = Wide<T>;
  if constexpr (kSumsInOrder<T, kFold>)
    if (plan.is_interleaved()) return long_sums_of<T, kFold, kStep, kCount>(plan, x, y, lanes);
  const std::int64_t count = kCount != 0 ? kCount : lanes;
  const std::int64_t step = kStep != 0 ? kStep : plan.lane.x;
  std::array<W, kLanes> sums;
  for (std::int64_t j = 0; j < count; ++j)
    sums[static_cast<std::size_t>(j)] = start<kFold, W>(W(tensor::widen(x[j * step])));
  const LineAxis& inner = plan.reduced.list[plan.reduced.count - 1];
  for_each_row(plan.reduced, x, [&](const T* row) {
    for (std::int64_t i = 0; i < inner.size; ++i, row += inner.x)
      for (std::int64_t j = 0; j < count; ++j) {
        W& sum = sums[static_cast<std::size_t>(j)];
        sum = fold<kFold, W>(sum, W(tensor::widen(row[j * step])));
      }
  });
  for (std::int64_t j = 0; j < count; ++j)
    y[j * plan.lane.y] = tensor::narrow<T>(finish(plan, sums[static_cast<std::size_t>(j)]));
}

/// Adjacent lanes, by vectors of them.
template <class T, Fold kFold>
void across(const ReduceSchedule& plan, const T* x, T* y, std::int64_t lanes) {
  alignas(64) std::array<T, kMaxAcross> sums;
  for (std::int64_t j = 0; j < lanes; ++j)
    sums[static_cast<std::size_t>(j)] = start<kFold, T>(x[j]);
  const LineAxis& inner = plan.reduced.list[plan.reduced.count - 1];
  for_each_row(plan.reduced, x, [&](const T* row) {
    plan.rows.lanes(reinterpret_cast<std::byte*>(sums.data()),
                    reinterpret_cast<const std::byte*>(row), inner.x, inner.size, lanes);
  });
  for (std::int64_t j = 0; j < lanes; ++j)
    y[j * plan.lane.y] = finish(plan, sums[static_cast<std::size_t>(j)]);
}

/// The same for long sums: part by part, of every row of elements.
template <class T>
void across_parts(const ReduceSchedule& plan, const T* x, T* y, std::int64_t lanes) {
  constexpr std::int64_t kParts = tensor::kParts<T>;
  alignas(64) std::array<T, static_cast<std::size_t>(kParts * kMaxAcrossParts)> sums{};
  const LineAxis& inner = plan.reduced.list[plan.reduced.count - 1];
  std::int64_t first_part = 0;
  for_each_row(plan.reduced, x, [&](const T* row) {
    for (std::int64_t i = 0; i < std::min(kParts, inner.size); ++i) {
      const std::int64_t part = (first_part + i) % kParts;
      plan.rows.lanes(reinterpret_cast<std::byte*>(sums.data() + part * kMaxAcrossParts),
                      reinterpret_cast<const std::byte*>(row + i * inner.x), kParts * inner.x,
                      (inner.size - i + kParts - 1) / kParts, lanes);
    }
    first_part = (first_part + inner.size) % kParts;
  });
  for (std::int64_t width = kParts / 2; width >= 1; width /= 2)
    for (std::int64_t i = 0; i < width * kMaxAcrossParts; ++i)
      sums[static_cast<std::size_t>(i)] +=
          sums[static_cast<std::size_t>(i + width * kMaxAcrossParts)];
  for (std::int64_t j = 0; j < lanes; ++j)
    y[j * plan.lane.y] = finish(plan, sums[static_cast<std::size_t>(j)]);
}

void take_greater_or_less(ElementFn greater_or_less, const float* from, std::int64_t count,
                          float* into) {
  greater_or_less(reinterpret_cast<std::byte*>(into), reinterpret_cast<const std::byte*>(into),
                  reinterpret_cast<const std::byte*>(from), nullptr, count);
}

/// Folds rows of all lanes into `sums`. A maximum or minimum does not depend on the order, except
/// for which NaN it is, so halves of the rows are combined first.
void take_min_max(ElementFn greater_or_less, float* rows, std::int64_t count, float* sums) {
  while (count > 1) {
    const std::int64_t half = count / 2;
    count -= half;
    take_greater_or_less(greater_or_less, rows + count * kLanes, half * kLanes, rows);
  }
  take_greater_or_less(greater_or_less, rows, kLanes, sums);
}

/// All lanes, each over rows of adjacent elements. Transposes some columns at a time into rows in
/// which the lanes are adjacent.
template <Fold kFold>
void reduce_transposed(const ReduceSchedule& plan, const float* x, float* y) {
  const LineAxis& inner = plan.reduced.list[plan.reduced.count - 1];
  alignas(64) std::array<float, kTransposed * kLanes> columns;
  alignas(64) std::array<float, kLanes> sums;
  for (std::int64_t j = 0; j < kLanes; ++j)
    sums[static_cast<std::size_t>(j)] = start<kFold, float>(x[j * plan.lane.x]);
  for_each_row(plan.reduced, x, [&](const float* row) {
    for (std::int64_t first = 0; first < inner.size; first += kTransposed) {
      const std::int64_t count = std::min(kTransposed, inner.size - first);
      for (std::int64_t j = 0; j < kLanes; j += 4)
        plan.simd->f32.transpose4(row + first + j * plan.lane.x, plan.lane.x, count, kLanes,
                                  columns.data() + j);
      if (plan.greater_or_less != nullptr) {
        take_min_max(plan.greater_or_less, columns.data(), count, sums.data());
        continue;
      }
      for (std::int64_t i = 0; i < count; ++i)
        for (std::int64_t j = 0; j < kLanes; ++j) {
          float& sum = sums[static_cast<std::size_t>(j)];
          sum = fold<kFold, float>(sum, columns[static_cast<std::size_t>(i * kLanes + j)]);
        }
    }
  });
  for (std::int64_t j = 0; j < kLanes; ++j)
    y[j * plan.lane.y] = finish(plan, sums[static_cast<std::size_t>(j)]);
}

/// The maximum or minimum of rows of adjacent elements, in as many columns at a time as fit in the
/// L1 cache.
float min_max_of_rows(const ReduceSchedule& plan, const float* x) {
  const LineAxis& inner = plan.reduced.list[plan.reduced.count - 1];
  alignas(64) std::array<float, kColumns> sums;
  sums.fill(*x);
  for_each_row(plan.reduced, x, [&](const float* row) {
    for (std::int64_t i = 0; i < inner.size; i += kColumns)
      take_greater_or_less(plan.greater_or_less, row + i, std::min(kColumns, inner.size - i),
                           sums.data());
  });
  for (std::int64_t half = kColumns / 2; half > 0; half /= 2)
    take_greater_or_less(plan.greater_or_less, sums.data() + half, half, sums.data());
  return sums[0];
}

/// Maxima, minima, and integers that wrap do not depend on the order.
template <class T, Fold kFold>
constexpr bool kAnyOrder = kFold == Fold::max || kFold == Fold::min || std::integral<T>;

/// One result, of lanes of adjacent elements that are added in W.
template <class T, Fold kFold, class W = Wide<T>>
T in_any_order(const ReduceSchedule& plan, const T* x) {
  // The low bits of a sum do not depend on the others.
  if constexpr (kFold == Fold::sum && std::same_as<T, std::int32_t> && !std::same_as<W, T>)
    if (plan.finish == Finish::none) return in_any_order<T, kFold, T>(plan, x);
  constexpr Fold kOfParts = kFold == Fold::sum_square || kFold == Fold::l1 ? Fold::sum : kFold;
  const LineAxis& inner = plan.reduced.list[plan.reduced.count - 1];
  std::array<W, kLanes> sums;
  sums.fill(start<kFold, W>(W(tensor::widen(*x))));
  for_each_row(plan.reduced, x, [&](const T* row) {
    std::int64_t i = 0;
    for (; i + kLanes <= inner.size; i += kLanes)
      for (std::size_t j = 0; j < sums.size(); ++j)
        sums[j] = fold<kFold, W>(sums[j], W(tensor::widen(row[i + static_cast<std::int64_t>(j)])));
    for (; i < inner.size; ++i) sums[0] = fold<kFold, W>(sums[0], W(tensor::widen(row[i])));
  });
  for (std::size_t j = 1; j < sums.size(); ++j) sums[0] = fold<kOfParts, W>(sums[0], sums[j]);
  return tensor::narrow<T>(finish(plan, sums[0]));
}

/// One result. Where the order does not matter, it is made of lanes of adjacent elements.
template <class T, Fold kFold>
void single(const ReduceSchedule& plan, const T* x, T* y) {
  const LineAxis& inner = plan.reduced.list[plan.reduced.count - 1];
  if constexpr (kFold == Fold::max || kFold == Fold::min) {
    if constexpr (std::same_as<T, float>) {
      if (plan.greater_or_less != nullptr && inner.x == 1 && inner.size >= kColumns) {
        *y = min_max_of_rows(plan, x);
        return;
      }
    }
  }
  if constexpr (kAnyOrder<T, kFold>)
    if (inner.x == 1 && inner.size >= 2 * kLanes) {
      *y = in_any_order<T, kFold>(plan, x);
      return;
    }
  lanes_of<T, kFold, 0, 1>(plan, x, y, 1);
}

/// Rows of adjacent elements.
template <class T>
void adjacent_rows(const ReduceSchedule& plan, const T* x, T* y, std::int64_t rows) {
  std::array<T, kMaxRows> folds;
  plan.rows.rows(reinterpret_cast<const std::byte*>(x), plan.lane.x, plan.reduced.list[0].size,
                 rows, reinterpret_cast<std::byte*>(folds.data()));
  if (plan.finish == Finish::mean)  // a loop of its own, which becomes vectors
    for (std::int64_t j = 0; j < rows; ++j)
      folds[static_cast<std::size_t>(j)] /= static_cast<T>(plan.reduced_count);
  else if (plan.finish != Finish::none)
    for (std::int64_t j = 0; j < rows; ++j) {
      T& each = folds[static_cast<std::size_t>(j)];
      each = finish(plan, each);
    }
  for (std::int64_t j = 0; j < rows; ++j) y[j * plan.lane.y] = folds[static_cast<std::size_t>(j)];
}

template <class T, Fold kFold>
void block(const ReduceSchedule& plan, const std::byte* x_bytes, std::byte* y_bytes,
           std::int64_t lanes) {
  const T* x = reinterpret_cast<const T*>(x_bytes);
  T* y = reinterpret_cast<T*>(y_bytes);
  if constexpr (std::floating_point<T>)
    if (plan.rows.rows != nullptr && !plan.is_across) return adjacent_rows(plan, x, y, lanes);
  if (lanes == 1) return single<T, kFold>(plan, x, y);
  if constexpr (std::floating_point<T>)
    if (plan.is_across) {
      if constexpr (kSumsInOrder<T, kFold>)
        if (plan.is_interleaved()) return across_parts(plan, x, y, lanes);
      return across<T, kFold>(plan, x, y, lanes);
    }
  if constexpr (std::same_as<T, float>) {
    const LineAxis& inner = plan.reduced.list[plan.reduced.count - 1];
    if (lanes == kLanes && plan.lane.x != 1 && inner.x == 1 && inner.size >= kMinTransposed &&
        !(kSumsInOrder<T, kFold> && plan.is_interleaved()))
      return reduce_transposed<kFold>(plan, x, y);
  }
  if constexpr (std::floating_point<T>) {
    if (lanes == kLanes && plan.lane.x == 1)
      return lanes_of<T, kFold, 1, kLanes>(plan, x, y, lanes);
    if (lanes == kLanes) return lanes_of<T, kFold, 0, kLanes>(plan, x, y, lanes);
  }
  if constexpr (std::integral<T>) {
    const LineAxis& inner = plan.reduced.list[plan.reduced.count - 1];
    if (inner.x == 1 && inner.size >= 2 * kLanes) {
      for (std::int64_t j = 0; j < lanes; ++j)
        y[j * plan.lane.y] = in_any_order<T, kFold>(plan, x + j * plan.lane.x);
      return;
    }
  }
  lanes_of<T, kFold, 0, 0>(plan, x, y, lanes);
}

template <class T>
BlockFn block_fn(const Reduction& kind) {
  if (std::integral<T> && (kind.finish == Finish::sqrt || kind.finish == Finish::log))
    return nullptr;
  switch (kind.fold) {
    case Fold::sum:
      return block<T, Fold::sum>;
    case Fold::max:
      return block<T, Fold::max>;
    case Fold::min:
      return block<T, Fold::min>;
    case Fold::prod:
      return block<T, Fold::prod>;
    case Fold::sum_square:
      return block<T, Fold::sum_square>;
    case Fold::l1:
      return block<T, Fold::l1>;
  }
  return nullptr;
}

BlockFn block_fn(DType dtype, const Reduction& kind) {
  if (dtype == DType::f32) return block_fn<float>(kind);
  if (dtype == DType::f64) return block_fn<double>(kind);
  if (dtype == DType::f16) return block_fn<tensor::Half>(kind);
  if (dtype == DType::bf16) return block_fn<tensor::BFloat16>(kind);
  if (dtype == DType::i64) return block_fn<std::int64_t>(kind);
  if (dtype == DType::i32) return block_fn<std::int32_t>(kind);
  return nullptr;
}

/// Computes a block of results at one index of the kept axes.
void run_block(const ReduceSchedule& plan, const Call& call, std::int64_t task) {
  std::int64_t x_at = 0, y_at = 0, index = task / plan.blocks();
  const std::int64_t first = task % plan.blocks() * plan.block_lanes;
  for (std::size_t i = plan.kept.count; i-- > 0;) {
    const LineAxis& axis = plan.kept.list[i];
    x_at += index % axis.size * axis.x;
    y_at += index % axis.size * axis.y;
    index /= axis.size;
  }
  const std::byte* x = call.in(0).data<const std::byte>() + x_at * plan.bytes;
  std::byte* y = call.out(0).data<std::byte>() + y_at * plan.bytes;
  plan.block(plan, x + first * plan.lane.x * plan.bytes, y + first * plan.lane.y * plan.bytes,
             std::min(plan.block_lanes, plan.lane.size - first));
}

Status run(const Call& call) noexcept {
  constexpr std::int64_t kBetweenPolls = 50'000;  // elements
  const ReduceSchedule& plan = *static_cast<const ReduceSchedule*>(call.prepared);
  const std::int64_t elements = plan.kept_count * plan.lane.size * plan.reduced_count;
  const std::int64_t tasks = plan.kept_count * plan.blocks();
  if (call.max_threads > 1 && tasks > 1 && elements >= kMinThreadedElements) {
    const std::int64_t between = std::max<std::int64_t>(kBetweenPolls * tasks / elements, 1);
    parallel_for(tasks, call.max_threads, [&](std::int64_t task) {
      if (task % between == 0 && call.stop_requested()) return;
      if (call.ok_or_stopped() == Status::ok) run_block(plan, call, task);
    });
    return call.ok_or_stopped();
  }
  tensor::PacedPoll poll(call);
  for (std::int64_t task = 0; task < tasks && !poll.stops(elements / tasks); ++task)
    run_block(plan, call, task);
  return call.ok_or_stopped();
}

void join(Axes<LineAxis>& axes, const LineAxis& axis) {
  if (axis.size == 1) return;
  if (axes.count > 0) {
    LineAxis& outer = axes.list[axes.count - 1];
    if (outer.x == axis.x * axis.size && outer.y == axis.y * axis.size) {
      outer = {outer.size * axis.size, axis.x, axis.y};
      return;
    }
  }
  axes.add(axis);
}

ReduceSchedule plan_of(const PrepareCtx& ctx) {
  const Operand &x = ctx.inputs[0], &y = ctx.outputs[0];
  const bool keep = ctx.attrs[tensor::kReduceKeepdims].integer() != 0;
  ReduceSchedule plan;
  plan.bytes = static_cast<std::int64_t>(dtype_bytes(x.dtype));
  int to = 0;
  for (int axis = 0; axis < x.rank; ++axis) {
    if (tensor::is_reduced(ctx.attrs[tensor::kReduceAxes], axis, x.rank)) {
      join(plan.reduced, {x.dims[axis], x.strides[axis], 0});
      to += keep ? 1 : 0;
    } else {
      join(plan.kept, {x.dims[axis], x.strides[axis], y.strides[to++]});
    }
  }
  if (plan.reduced.count == 0) plan.reduced.add({1, 0, 0});
  for (std::size_t i = 0; i < plan.reduced.count; ++i)
    plan.reduced_count *= plan.reduced.list[i].size;
  // Lanes: the axis with adjacent elements, otherwise the longest.
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < plan.kept.count; ++i) {
    const LineAxis& axis = plan.kept.list[i];
    if (axis.size == 0) plan.kept_count = 0;
    if (!best || axis.x == 1 ||
        (plan.kept.list[*best].x != 1 && axis.size > plan.kept.list[*best].size))
      best = i;
  }
  if (best) {
    plan.lane = plan.kept.list[*best];
    std::copy(plan.kept.list.begin() + static_cast<std::ptrdiff_t>(*best) + 1,
              plan.kept.list.begin() + static_cast<std::ptrdiff_t>(plan.kept.count),
              plan.kept.list.begin() + static_cast<std::ptrdiff_t>(*best));
    --plan.kept.count;
  }
  for (std::size_t i = 0; i < plan.kept.count; ++i) plan.kept_count *= plan.kept.list[i].size;
  return plan;
}

/// Chooses the functions of rows, and how many results a block has.
void choose_rows(const PrepareCtx& ctx, Fold fold, ReduceSchedule& plan) {
  const DType dtype = ctx.inputs[0].dtype;
  RowFoldFns rows;
  if (dtype == DType::f32) rows = plan.simd->f32_folds(fold);
  if (dtype == DType::f64) rows = plan.simd->f64_folds(fold);
  if (rows.rows == nullptr) return;
  const std::int64_t elements = plan.kept_count * plan.lane.size * plan.reduced_count;
  const auto shrink_blocks = [&](std::int64_t least) {
    while (elements >= kMinThreadedElements && plan.kept_count * plan.blocks() < 8 &&
           plan.block_lanes > least)
      plan.block_lanes /= 2;
  };
  if (plan.reduced.count == 1 && plan.reduced.list[0].x == 1) {
    plan.rows = rows;
    if (plan.is_interleaved()) return;
    plan.block_lanes = kMaxRows;
    shrink_blocks(kMinRows);
  } else if (plan.lane.x == 1 && plan.lane.size > 1) {
    plan.rows = rows;
    plan.is_across = true;
    plan.block_lanes = plan.is_interleaved() ? kMaxAcrossParts : kMaxAcross;
    shrink_blocks(kMinAcross);
  }
}

Prepared prepare(const PrepareCtx& ctx) {
  const Reduction* const kind = tensor::find_reduction(ctx.attrs[tensor::kReduceKind].text());
  if (kind == nullptr)
    return Prepared::no("a kind of reduction that only the reference kernel takes");
  if (ctx.inputs.size() > 1 && ctx.inputs[1].present()) return Prepared::no("axes as an operand");
  const BlockFn fn = block_fn(ctx.inputs[0].dtype, *kind);
  if (fn == nullptr) return Prepared::no("an element type that only the reference kernel takes");
  ReduceSchedule plan = plan_of(ctx);
  if (plan.reduced_count == 0) return Prepared::no("a reduction without elements");
  plan.finish = kind->finish;
  plan.block = fn;
  plan.simd = &simd_tables(ctx.isa);
  choose_rows(ctx, kind->fold, plan);
  if (ctx.inputs[0].dtype == DType::f32 && (kind->fold == Fold::max || kind->fold == Fold::min))
    plan.greater_or_less =
        plan.simd
            ->f32_elements(kind->fold == Fold::max ? tensor::ScalarOp::max : tensor::ScalarOp::min)
            .columns;
  return {.state = std::make_shared<const ReduceSchedule>(plan)};
}

}  // namespace reduce
}  // namespace

extern constinit const KernelDef reduce_kernel{
    .name = "reduce",
    .doc = "Reductions in order, several results interleaved.",
    .prepare = reduce::prepare,
    .run = reduce::run,
};

}  // namespace scanloom::kernels
