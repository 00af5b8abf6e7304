#include "kernels/copy_plan.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/simd.h"
#include "tensor/visit.h"

namespace scanloom::kernels {
namespace {

using Axis = CopyPlan::Axis;

using tensor::Bytes16;

/// Joins axes that both operands walk with one stride; outermost first.
std::vector<Axis> joined(std::vector<Axis> axes) {
  std::ranges::stable_sort(
      axes, [](const Axis& a, const Axis& b) { return std::abs(a.to) > std::abs(b.to); });
  std::vector<Axis> kept;
  for (const Axis& axis : axes) {
    if (!kept.empty() && kept.back().from == axis.from * axis.dim &&
        kept.back().to == axis.to * axis.dim)
      kept.back() = {kept.back().dim * axis.dim, axis.from, axis.to};
    else
      kept.push_back(axis);
  }
  return kept;
}

/// For elements of 16 bytes, which have no vector code.
void transpose_one(const Transposition& t) {
  // Blocks whose lines, of source and target, stay in the L1 cache.
  constexpr std::int64_t kBlock = 16, kBytes = sizeof(Bytes16);
  for (std::int64_t r = 0; r < t.rows; r += kBlock)
    for (std::int64_t c = 0; c < t.columns; c += kBlock)
      for (std::int64_t j = c; j < std::min(c + kBlock, t.columns); ++j)
        for (std::int64_t i = r; i < std::min(r + kBlock, t.rows); ++i)
          std::memcpy(t.to + j * t.to_step + i * kBytes, t.from + i * t.from_step + j * kBytes,
                      kBytes);
}

void transpose_plainly(const Transposition& all) {
  Transposition t = all;
  for (std::int64_t i = 0; i < all.count; ++i, t.from += t.from_next, t.to += t.to_next)
    transpose_one(t);
}

/// Elements may be unaligned: they may be short runs of the caller's.
template <class T>
T loaded(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

template <class T>
void fill_run(const std::byte* from, std::byte* to, std::int64_t count) {
  const T value = loaded<T>(from);
  // Long runs are copies of their beginning, which the library's memcpy writes in wide vectors.
  constexpr std::int64_t kFirst = 2048 / sizeof(T), kBytes = sizeof(T);
  for (std::int64_t i = 0; i < std::min(count, kFirst); ++i)
    std::memcpy(to + i * kBytes, &value, sizeof(T));
  for (std::int64_t i = kFirst; i < count; i += kFirst)
    std::memcpy(to + i * kBytes, to,
                static_cast<std::size_t>(std::min(kFirst, count - i) * kBytes));
}

template <class T>
void elements(const Axis& row, const std::byte* from, std::byte* to) {
  constexpr std::int64_t kBytes = sizeof(T);
  if (row.to == 1 && row.from == 0) return fill_run<T>(from, to, row.dim);
  const std::int64_t from_step = row.from * kBytes, to_step = row.to * kBytes;
  if (row.to == 1)
    for (std::int64_t i = 0; i < row.dim; ++i)
      std::memcpy(to + i * kBytes, from + i * from_step, sizeof(T));
  else
    for (std::int64_t i = 0; i < row.dim; ++i)
      std::memcpy(to + i * to_step, from + i * from_step, sizeof(T));
}

/// The Transposition of a plan without `axes`.
Transposition transposition_of(const CopyPlan& plan, const std::byte* from, std::byte* to) {
  return {.from = from,
          .to = to,
          .rows = plan.row.dim,
          .columns = plan.column.dim,
          .from_step = plan.row.from * plan.element_bytes,
          .to_step = plan.column.to * plan.element_bytes};
}

/// `last` is the innermost of the axes around the inner ones.
template <class T, CopyPlan::Inner kInner>
void copy_last(const CopyPlan& plan, const Axis& last, const std::byte* from, std::byte* to) {
  constexpr std::int64_t kBytes = sizeof(T);
  const std::int64_t from_next = last.from * kBytes, to_next = last.to * kBytes;
  if constexpr (kInner == CopyPlan::Inner::transpose) {
    Transposition t = transposition_of(plan, from, to);
    t.count = last.dim;
    t.from_next = from_next;
    t.to_next = to_next;
    plan.transpose(t);
  } else {
    for (std::int64_t i = 0; i < last.dim; ++i, from += from_next, to += to_next) {
      if constexpr (kInner == CopyPlan::Inner::run)
        std::memcpy(to, from, static_cast<std::size_t>(plan.row.dim) * sizeof(T));
      else
        elements<T>(plan.row, from, to);
    }
  }
}

template <class T, CopyPlan::Inner kInner>
void copy_all(const CopyPlan& plan, const std::byte* from, std::byte* to) {
  constexpr std::int64_t kBytes = sizeof(T);
  if (plan.rank == 0) return copy_last<T, kInner>(plan, {1, 0, 0}, from, to);
  const Axis last = plan.axes[static_cast<std::size_t>(plan.rank - 1)];
  std::int64_t index[tensor::kMaxRank] = {};
  while (true) {
    copy_last<T, kInner>(plan, last, from, to);
    int axis = plan.rank - 2;
    for (; axis >= 0; --axis) {
      const Axis& at = plan.axes[static_cast<std::size_t>(axis)];
      from += at.from * kBytes;
      to += at.to * kBytes;
      if (++index[axis] < at.dim) break;
      index[axis] = 0;
      from -= at.from * at.dim * kBytes;
      to -= at.to * at.dim * kBytes;
    }
    if (axis < 0) return;
  }
}

template <class T>
CopyFn copy_fn(CopyPlan::Inner inner) {
  switch (inner) {
    case CopyPlan::Inner::run:
      return copy_all<T, CopyPlan::Inner::run>;
    case CopyPlan::Inner::transpose:
      return copy_all<T, CopyPlan::Inner::transpose>;
    case CopyPlan::Inner::elements:
      return copy_all<T, CopyPlan::Inner::elements>;
  }
  return nullptr;
}

CopyFn copy_fn(CopyPlan::Inner inner, int bytes) {
  switch (bytes) {
    case 1:
      return copy_fn<std::uint8_t>(inner);
    case 2:
      return copy_fn<std::uint16_t>(inner);
    case 4:
      return copy_fn<std::uint32_t>(inner);
    case 8:
      return copy_fn<std::uint64_t>(inner);
    default:
      return copy_fn<Bytes16>(inner);
  }
}

/// Takes the innermost axis out of `axes`.
Axis take_row(std::vector<Axis>& axes) {
  if (axes.empty()) return {1, 1, 1};
  const Axis row = axes.back();
  axes.pop_back();
  return row;
}

/// Makes elements of short runs, such as pairs of numbers, if all strides allow.
void widen_elements(CopyPlan& plan, std::vector<Axis>& axes) {
  constexpr std::int64_t kMaxBytes = 16;
  const std::int64_t count = plan.row.dim, bytes = count * plan.element_bytes;
  const bool is_power = bytes <= kMaxBytes && (bytes & (bytes - 1)) == 0;
  if (axes.empty() || count < 2 || plan.row.from != 1 || plan.row.to != 1 || !is_power) return;
  for (const Axis& axis : axes)
    if (axis.from % count != 0 || axis.to % count != 0) return;
  for (Axis& axis : axes) {
    axis.from /= count;
    axis.to /= count;
  }
  plan.element_bytes = static_cast<int>(bytes);
  plan.row = take_row(axes);
}

/// Removes the axis that becomes the columns of a transposition, if one does.
void choose_inner(CopyPlan& plan, std::vector<Axis>& axes) {
  if (plan.row.from == 1 && plan.row.to == 1) {
    plan.inner = CopyPlan::Inner::run;
    return;
  }
  plan.inner = CopyPlan::Inner::elements;
  // Repeating one element many times takes no transposition.
  constexpr std::int64_t kLongRun = 16;
  if (plan.row.to != 1 || (plan.row.from == 0 && plan.row.dim >= kLongRun)) return;
  const auto neighbours = std::ranges::find(axes, 1, &Axis::from);
  if (neighbours == axes.end()) return;
  plan.inner = CopyPlan::Inner::transpose;
  plan.column = *neighbours;
  axes.erase(neighbours);
}

}  // namespace

CopyPlan plan_copy(std::span<const std::int64_t> dims, const std::int64_t* from,
                   const std::int64_t* to, int element_bytes, Isa isa) {
  CopyPlan plan;
  plan.element_bytes = element_bytes;
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    plan.empty |= dims[i] == 0;
    if (dims[i] != 1) axes.push_back({dims[i], from[i], to[i]});
  }
  if (plan.empty) return plan;
  axes = joined(std::move(axes));
  plan.row = take_row(axes);
  widen_elements(plan, axes);
  choose_inner(plan, axes);
  plan.bytes = plan.element_bytes * plan.row.dim * plan.column.dim;
  for (const Axis& axis : axes) plan.bytes *= axis.dim;
  plan.rank = static_cast<int>(axes.size());
  std::ranges::copy(axes, plan.axes.begin());
  plan.transpose = simd_tables(isa).transpose(plan.element_bytes);
  if (plan.transpose == nullptr) plan.transpose = transpose_plainly;
  plan.copy = copy_fn(plan.inner, plan.element_bytes);
  return plan;
}

void run_copy(const CopyPlan& plan, const std::byte* from, std::byte* to) {
  if (!plan.empty) plan.copy(plan, from, to);
}

void run_copy_share(const CopyPlan& plan, const std::byte* from, std::byte* to, std::int64_t share,
                    std::int64_t shares) {
  if (plan.empty) return;
  CopyPlan part = plan;
  Axis& split = plan.rank > 0                              ? part.axes[0]
                : plan.inner == CopyPlan::Inner::transpose ? part.column
                                                           : part.row;
  const std::int64_t first = split.dim * share / shares, last = split.dim * (share + 1) / shares;
  if (first == last) return;
  split.dim = last - first;
  run_copy(part, from + first * split.from * plan.element_bytes,
           to + first * split.to * plan.element_bytes);
}

void run_copy(const CopyPlan& plan, const std::byte* from, std::byte* to,
              const tensor::Call& call) {
  constexpr std::int64_t kShares = 16;
  const bool is_shared = call.max_threads > 1 && plan.bytes >= kMinThreadedCopy;
  const std::int64_t shares = std::max(is_shared ? kShares : 1, plan.bytes / kBetweenPolls);
  if (shares == 1) return run_copy(plan, from, to);
  parallel_for(shares, call.max_threads, [&](std::int64_t share) {
    if (!call.stop_requested()) run_copy_share(plan, from, to, share, shares);
  });
}

}  // namespace scanloom::kernels
