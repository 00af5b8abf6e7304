#include "kernels/copy_plan.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace scanloom::kernels {
namespace {

using Axis = CopyPlan::Axis;

struct Bytes16 {
  std::uint64_t low, high;
};

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

template <class T>
void transpose(const Axis& row, const Axis& column, const T* from, T* to) {
  // Blocks whose lines, of source and target, stay in the L1 cache.
  constexpr std::int64_t kBlock = 16;
  for (std::int64_t r = 0; r < row.dim; r += kBlock)
    for (std::int64_t c = 0; c < column.dim; c += kBlock) {
      const std::int64_t r_end = std::min(r + kBlock, row.dim);
      const std::int64_t c_end = std::min(c + kBlock, column.dim);
      for (std::int64_t j = c; j < c_end; ++j)
        for (std::int64_t i = r; i < r_end; ++i) to[j * column.to + i] = from[i * row.from + j];
    }
}

template <class T>
void elements(const Axis& row, const T* from, T* to) {
  if (row.to == 1 && row.from == 0) {
    std::fill_n(to, row.dim, *from);
  } else if (row.to == 1) {
    for (std::int64_t i = 0; i < row.dim; ++i) to[i] = from[i * row.from];
  } else {
    for (std::int64_t i = 0; i < row.dim; ++i) to[i * row.to] = from[i * row.from];
  }
}

template <class T>
void copy_inner(const CopyPlan& plan, const T* from, T* to) {
  switch (plan.inner) {
    case CopyPlan::Inner::run:
      std::memcpy(to, from, static_cast<std::size_t>(plan.row.dim) * sizeof(T));
      return;
    case CopyPlan::Inner::transpose:
      return transpose(plan.row, plan.column, from, to);
    case CopyPlan::Inner::elements:
      return elements(plan.row, from, to);
  }
}

template <class T>
void copy_all(const CopyPlan& plan, const std::byte* from_bytes, std::byte* to_bytes) {
  const T* from = reinterpret_cast<const T*>(from_bytes);
  T* to = reinterpret_cast<T*>(to_bytes);
  if (plan.rank == 0) return copy_inner(plan, from, to);
  std::int64_t index[tensor::kMaxRank] = {};
  while (true) {
    copy_inner(plan, from, to);
    int axis = plan.rank - 1;
    for (; axis >= 0; --axis) {
      const Axis& at = plan.axes[static_cast<std::size_t>(axis)];
      from += at.from;
      to += at.to;
      if (++index[axis] < at.dim) break;
      index[axis] = 0;
      from -= at.from * at.dim;
      to -= at.to * at.dim;
    }
    if (axis < 0) return;
  }
}

}  // namespace

CopyPlan plan_copy(std::span<const std::int64_t> dims, const std::int64_t* from,
                   const std::int64_t* to, int element_bytes) {
  CopyPlan plan;
  plan.element_bytes = element_bytes;
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    plan.empty |= dims[i] == 0;
    if (dims[i] != 1) axes.push_back({dims[i], from[i], to[i]});
  }
  if (plan.empty) return plan;
  axes = joined(std::move(axes));
  plan.row = {1, 1, 1};
  if (!axes.empty()) {
    plan.row = axes.back();
    axes.pop_back();
  }
  plan.inner =
      plan.row.from == 1 && plan.row.to == 1 ? CopyPlan::Inner::run : CopyPlan::Inner::elements;
  const auto neighbours = std::ranges::find(axes, 1, &Axis::from);
  if (plan.inner == CopyPlan::Inner::elements && plan.row.to == 1 && neighbours != axes.end()) {
    plan.inner = CopyPlan::Inner::transpose;
    plan.column = *neighbours;
    axes.erase(neighbours);
  }
  plan.rank = static_cast<int>(axes.size());
  std::ranges::copy(axes, plan.axes.begin());
  return plan;
}

void run_copy(const CopyPlan& plan, const std::byte* from, std::byte* to) {
  if (plan.empty) return;
  switch (plan.element_bytes) {
    case 1:
      return copy_all<std::uint8_t>(plan, from, to);
    case 2:
      return copy_all<std::uint16_t>(plan, from, to);
    case 4:
      return copy_all<std::uint32_t>(plan, from, to);
    case 8:
      return copy_all<std::uint64_t>(plan, from, to);
    default:
      return copy_all<Bytes16>(plan, from, to);
  }
}

}  // namespace scanloom::kernels
