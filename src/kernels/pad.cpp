// pad: binding computes, axis by axis, where the elements of the margins come from. A row is then a
// few single elements around one contiguous run. Last axes that are not padded are joined with the
// one before them. Threads share the rows of a large result.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/copy_plan.h"
#include "kernels/kernel.h"
#include "tensor/visit.h"

namespace scanloom::kernels {
namespace {
namespace pad {

using tensor::Call;
using tensor::Operand;
using tensor::Status;

enum Input : std::size_t { kX, kPads, kValue, kAxes };

/// Marks elements of the result without a source along this axis.
constexpr std::int64_t kOutside = -1;
/// Upper bound on the entries of all margins; larger ones are left to the reference kernel. They
/// are computed at binding, where no limit of a run counts them.
constexpr std::int64_t kMaxSources = std::int64_t{1} << 22;

struct PadAxis {
  std::int64_t size = 0;              ///< of the result
  std::int64_t begin = 0, end = 0;    ///< the indices of the result that map one to one to x
  std::int64_t first = 0;             ///< the index along x that `begin` maps to
  bool fills = false;                 ///< the others, which are the margins, have no source
  std::vector<std::int64_t> margins;  ///< otherwise: indices along x, before `begin` and from `end`
  std::int64_t x = 0, y = 0;          ///< strides in elements

  [[nodiscard]] bool is_whole() const { return begin == 0 && end == size && first == 0; }
  /// Returns the index along x of index i of the result, or kOutside.
  [[nodiscard]] std::int64_t source(std::int64_t i) const {
    if (i >= begin && i < end) return first + i - begin;
    return fills ? kOutside : margins[static_cast<std::size_t>(i < begin ? i : begin + i - end)];
  }
};

struct PadSchedule {
  std::vector<PadAxis> axes;  ///< at least one
  std::int64_t rows = 1;
};

/// Maps a position that may lie outside the axis to an element of it. Precondition: size > 0.
std::int64_t source_of(std::int64_t position, std::int64_t size, std::string_view mode) {
  if (position >= 0 && position < size) return position;
  if (mode == "constant") return kOutside;
  if (mode == "edge") return position < 0 ? 0 : size - 1;
  const std::int64_t period = mode == "wrap" ? size : std::max<std::int64_t>(2 * size - 2, 1);
  const std::int64_t rest = position % period, folded = rest < 0 ? rest + period : rest;
  return folded < size ? folded : period - folded;
}

/// The elements [first, last) of a row.
template <class T>
void pad_part(const PadAxis& axis, const T* x, T value, T* y, std::int64_t first,
              std::int64_t last) {
  if (axis.fills && axis.y == 1) {
    std::fill(y + first, y + last, value);
    return;
  }
  for (std::int64_t i = first; i < last; ++i) {
    const std::int64_t from = axis.source(i);
    y[i * axis.y] = from == kOutside ? value : x[from * axis.x];
  }
}

template <class T>
void pad_row(const PadAxis& axis, const T* x, T value, T* y) {
  pad_part(axis, x, value, y, 0, axis.begin);
  if (axis.begin < axis.end) {
    const T* const from = x + axis.first * axis.x;
    const std::int64_t count = axis.end - axis.begin;
    T* const to = y + axis.begin * axis.y;
    if (axis.x == 1 && axis.y == 1)
      std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
    else
      for (std::int64_t i = 0; i < count; ++i) to[i * axis.y] = from[i * axis.x];
  }
  pad_part(axis, x, value, y, axis.end, axis.size);
}

template <class T>
void fill_row(const PadAxis& axis, T value, T* y) {
  if (axis.y == 1)
    std::fill_n(y, axis.size, value);
  else
    for (std::int64_t i = 0; i < axis.size; ++i) y[i * axis.y] = value;
}

/// The rows [first, last) of the result.
template <class T>
void pad_rows(const Call& call, std::int64_t first, std::int64_t last) {
  const PadSchedule& plan = *static_cast<const PadSchedule*>(call.prepared);
  const T* x = call.in(kX).data<const T>();
  T* y = call.out(0).data<T>();
  const T value = call.has(kValue) ? *call.in(kValue).data<const T>() : T{};
  const PadAxis& inner = plan.axes.back();
  const std::size_t outer = plan.axes.size() - 1;
  std::array<std::int64_t, tensor::kMaxRank> index{};
  std::int64_t rest = first;
  for (std::size_t i = outer; i-- > 0; rest /= plan.axes[i].size)
    index[i] = rest % plan.axes[i].size;
  for (std::int64_t row = first; row < last; ++row) {
    std::int64_t from = 0, to = 0;
    bool outside = false;
    for (std::size_t i = 0; i < outer; ++i) {
      const PadAxis& axis = plan.axes[i];
      const std::int64_t source = axis.source(index[i]);
      outside |= source == kOutside;
      from += source * axis.x;
      to += index[i] * axis.y;
    }
    if (outside)
      fill_row(inner, value, y + to);
    else
      pad_row(inner, x + from, value, y + to);
    for (std::size_t i = outer; i-- > 0;) {
      if (++index[i] < plan.axes[i].size) break;
      index[i] = 0;
    }
  }
}

template <class T>
Status run(const Call& call) noexcept {
  constexpr std::int64_t kShares = 16;
  const PadSchedule& plan = *static_cast<const PadSchedule*>(call.prepared);
  const std::int64_t bytes =
      plan.rows * plan.axes.back().size * static_cast<std::int64_t>(sizeof(T));
  if (call.max_threads > 1 && plan.rows > 1 && bytes >= kMinThreadedCopy)
    parallel_for(kShares, call.max_threads, [&](std::int64_t share) {
      pad_rows<T>(call, plan.rows * share / kShares, plan.rows * (share + 1) / kShares);
    });
  else
    pad_rows<T>(call, 0, plan.rows);
  return Status::ok;
}

std::int64_t integer_at(const Operand& operand, const void* data, std::int64_t i) {
  const std::int64_t at = operand.rank == 0 ? 0 : i * operand.strides[0];
  return operand.dtype == DType::i32 ? static_cast<const std::int32_t*>(data)[at]
                                     : static_cast<const std::int64_t*>(data)[at];
}

/// Elements before the first one, per axis of x.
std::vector<std::int64_t> begins_of(const PrepareCtx& ctx, bool has_axes) {
  const int rank = ctx.inputs[kX].rank;
  std::vector<std::int64_t> begins(static_cast<std::size_t>(rank), 0);
  const std::int64_t count = ctx.inputs[kPads].elements() / 2;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t given =
        has_axes ? integer_at(ctx.inputs[kAxes], ctx.constants[kAxes], i) : i;
    begins[static_cast<std::size_t>(given < 0 ? given + rank : given)] =
        integer_at(ctx.inputs[kPads], ctx.constants[kPads], i);
  }
  return begins;
}

/// Returns an axis without margins.
PadAxis axis_of(std::int64_t size, std::int64_t result, std::int64_t begin, std::string_view mode) {
  PadAxis axis{.size = result, .fills = mode == "constant"};
  axis.begin = std::clamp<std::int64_t>(begin, 0, result);
  axis.end = std::clamp<std::int64_t>(begin + size, axis.begin, result);
  axis.first = axis.begin - begin;
  return axis;
}

void add_margins(PadAxis& axis, std::int64_t size, std::int64_t begin, std::string_view mode) {
  const auto add = [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i)
      axis.margins.push_back(source_of(i - begin, size, mode));
  };
  add(0, axis.begin);
  add(axis.end, axis.size);
}

/// Joins the last axis with the one before it, if it is not padded and both walk through adjacent
/// elements. Long rows gain nothing.
bool join_last(std::vector<PadAxis>& axes, std::int64_t x_size) {
  constexpr std::int64_t kMaxJoined = std::int64_t{1} << 16;
  if (axes.size() < 2) return false;
  const PadAxis last = axes.back();
  PadAxis& before = axes[axes.size() - 2];
  const std::int64_t size = last.size;
  if (!last.is_whole() || size != x_size || last.x != 1 || last.y != 1 || before.x != size ||
      before.y != size || before.size * size > kMaxJoined)
    return false;
  axes.pop_back();
  std::vector<std::int64_t> margins;
  for (const std::int64_t from : before.margins)
    for (std::int64_t i = 0; i < size; ++i) margins.push_back(from * size + i);
  before = {.size = before.size * size,
            .begin = before.begin * size,
            .end = before.end * size,
            .first = before.first * size,
            .fills = before.fills,
            .margins = std::move(margins),
            .x = 1,
            .y = 1};
  return true;
}

Prepared prepare(const PrepareCtx& ctx) {
  const Operand &x = ctx.inputs[kX], &y = ctx.outputs[0];
  const auto has = [&](std::size_t i) { return i < ctx.inputs.size() && ctx.inputs[i].present(); };
  if (ctx.constants[kPads] == nullptr || (has(kAxes) && ctx.constants[kAxes] == nullptr))
    return Prepared::no("pads that are not constant");
  if (x.rank == 0 || x.empty()) return Prepared::no("nothing to pad");
  if (y.empty()) return Prepared::no("no elements to compute");
  const std::string_view mode = ctx.attrs[0].text();
  const std::vector<std::int64_t> begins = begins_of(ctx, has(kAxes));
  auto plan = std::make_shared<PadSchedule>();
  std::int64_t sources = 0;
  for (int i = 0; i < x.rank; ++i) {
    const std::int64_t begin = begins[static_cast<std::size_t>(i)];
    PadAxis axis = axis_of(x.dims[i], y.dims[i], begin, mode);
    axis.x = x.strides[i];
    axis.y = y.strides[i];
    if (!axis.fills) {
      const std::int64_t margins = axis.size - (axis.end - axis.begin);
      if (margins > kMaxSources - sources) return Prepared::no("very wide margins");
      sources += margins;
      add_margins(axis, x.dims[i], begin, mode);
    }
    plan->axes.push_back(std::move(axis));
  }
  std::int64_t row = x.dims[x.rank - 1];  // elements of x in a row
  for (int i = x.rank - 1; i > 0 && join_last(plan->axes, row); --i) row *= x.dims[i - 1];
  for (std::size_t i = 0; i + 1 < plan->axes.size(); ++i) plan->rows *= plan->axes[i].size;
  const tensor::KernelFn fn = tensor::visit_bytes(
      y.dtype, []<class T>(std::type_identity<T>) -> tensor::KernelFn { return run<T>; });
  return {.state = std::move(plan), .run = fn};
}

}  // namespace pad
}  // namespace

extern constinit const KernelDef pad_kernel{
    .name = "pad",
    .doc = "Rows of one run and a few elements around it, in all modes.",
    .prepare = pad::prepare,
    .run = pad::run<std::uint8_t>,
};

}  // namespace scanloom::kernels
