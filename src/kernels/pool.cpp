// pool: averages, norms and maxima of windows. Small windows are left to pool_bands.cpp and
// pool_rows.cpp; here a line of the result is computed at a time. Windows that lie inside x along
// the last axis take every tap together, in the order of the operators; the others are computed one
// by one.
#include "kernels/pool.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "base/thread_pool.h"
#include "opmath/conv_geometry.h"

namespace scanloom::kernels {
namespace pool {
namespace {

using tensor::Call;
using tensor::Operand;
using tensor::PoolAxis;
using tensor::PoolGeometry;
using tensor::PoolTaps;
using tensor::PoolWhole;
using tensor::PoolWindow;
using tensor::Shape;
using tensor::Status;

// Windows whose taps are kept on the stack.
constexpr std::int64_t kWindowsAtOnce = 256;
// Offsets of taps have 32 bits.
constexpr std::int64_t kMaxOfPlane = std::numeric_limits<std::int32_t>::max() / 2;

template <class T>
struct PoolSchedule {
  PoolGeometry outer;
  PoolAxis inner;
  PoolFns<T> fns;
  bool with_padding = false;           ///< averages count padding
  PoolWhole whole;                     ///< the windows inside x along the last axis
  std::int64_t planes = 1, lines = 1;  ///< lines of a plane
  std::int64_t x_plane = 1;
};

// A line of the result, and which rows of x its windows read.
template <class T>
struct Line {
  const T* x;               ///< start of the plane
  std::int64_t number = 0;  ///< of the plane's first element
  PoolWindow rows;
  double divisor = 1;  ///< for averages: the number of rows counted, which may exceed 64 bits
  T* y;
  std::int64_t* at = nullptr;  ///< null if nothing reads the indices
  StopPoll* poll = nullptr;
};

// Calls f(window, its taps) for the windows that are not inside x along the last axis.
template <class T, class F>
void for_each_edge(const PoolSchedule<T>& plan, const Line<T>& line, F&& f) {
  const auto visit = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t o = first; o < last; ++o) {
      const PoolTaps taps = tensor::taps_within(plan.inner, o, 0, plan.inner.in);
      if (line.poll->stops_before(1 + taps.last - taps.first)) return;
      f(o, taps);
    }
  };
  visit(0, plan.whole.begin);
  visit(plan.whole.end, plan.inner.out);
}

template <class T>
void average_line(const PoolSchedule<T>& plan, const Operand& x, const Line<T>& line) {
  const PoolAxis& axis = plan.inner;
  const auto [begin, end] = plan.whole;
  const std::int64_t whole = end - begin;
  std::fill_n(line.y, axis.out, T{0});
  for_each_row(plan.outer, x, line.rows, [&](std::int64_t row) {
    const T* const from = line.x + row;
    const std::int64_t start = begin * axis.stride - axis.pad;
    for (std::int64_t k = 0; whole > 0 && k < axis.kernel; ++k) {
      if (line.poll->stops_before(whole)) return;
      plan.fns.add({.x = from + start + k * axis.dilation,
                    .step = axis.stride,
                    .count = whole,
                    .y = line.y + begin});
    }
    for_each_edge(plan, line, [&](std::int64_t o, const PoolTaps& taps) {
      const std::int64_t at = o * axis.stride - axis.pad;
      for (std::int64_t k = taps.first; k < taps.last; ++k)
        line.y[o] += from[at + k * axis.dilation];
    });
  });
  for_each_edge(plan, line, [&](std::int64_t o, const PoolTaps&) {
    const std::int64_t along = tensor::averaged_along(axis, o, plan.with_padding);
    line.y[o] /= static_cast<T>(line.divisor * static_cast<double>(along));
  });
  const auto count = static_cast<T>(line.divisor * static_cast<double>(axis.kernel));
  for (std::int64_t o = begin; o < end; ++o) line.y[o] /= count;
}

template <class T>
void take(const Line<T>& line, std::int64_t o, std::int64_t offset) {
  const T value = line.x[offset], best = line.y[o];
  // The first tap is always taken: it may equal the initial value.
  const bool is_first = line.at != nullptr && line.at[o] < 0;
  if (!is_first && !(value > best || (value != value && best == best))) return;
  line.y[o] = value;
  if (line.at != nullptr) line.at[o] = line.number + offset;
}

// Windows [first, first + count), which are inside x along the last axis. Keeps for each the tap
// taken last, as the offset of the element from the window's position.
template <class T>
void maximum_of_whole(const PoolSchedule<T>& plan, const Operand& x, const Line<T>& line,
                      std::int64_t first, std::int64_t count) {
  const PoolAxis& axis = plan.inner;
  std::int32_t taps[kWindowsAtOnce];
  bool is_first = true;
  for_each_row(plan.outer, x, line.rows, [&](std::int64_t row) {
    for (std::int64_t k = 0; k < axis.kernel; ++k) {
      if (line.poll->stops_before(count)) return;
      const std::int64_t tap = row + k * axis.dilation - axis.pad;
      const T* const from = line.x + tap + first * axis.stride;
      // The first tap of a window is always taken.
      if (is_first) {
        for (std::int64_t i = 0; i < count; ++i) line.y[first + i] = from[i * axis.stride];
        std::fill_n(taps, count, static_cast<std::int32_t>(tap));
      } else {
        plan.fns.take_greater({.x = from,
                               .step = axis.stride,
                               .count = count,
                               .y = line.y + first,
                               .tap = static_cast<std::int32_t>(tap),
                               .taps = taps});
      }
      is_first = false;
    }
  });
  if (is_first || line.at == nullptr) return;  // is_first: no row is inside x
  for (std::int64_t i = 0; i < count; ++i)
    line.at[first + i] = line.number + taps[i] + (first + i) * axis.stride;
}

template <class T>
void maximum_line(const PoolSchedule<T>& plan, const Operand& x, const Line<T>& line) {
  const PoolAxis& axis = plan.inner;
  std::fill_n(line.y, axis.out, least<T>());
  if (line.at != nullptr) std::fill_n(line.at, axis.out, std::int64_t{-1});
  const auto [begin, end] = plan.whole;
  for (std::int64_t o = begin; o < end; o += kWindowsAtOnce)
    maximum_of_whole(plan, x, line, o, std::min(kWindowsAtOnce, end - o));
  if (begin == 0 && end == axis.out) return;
  for_each_row(plan.outer, x, line.rows, [&](std::int64_t row) {
    for_each_edge(plan, line, [&](std::int64_t o, const PoolTaps& taps) {
      for (std::int64_t k = taps.first; k < taps.last; ++k)
        take(line, o, row + o * axis.stride - axis.pad + k * axis.dilation);
    });
  });
}

template <class T, bool kMaximum>
Status run(const Call& call) noexcept {
  const PoolSchedule<T>& plan = *static_cast<const PoolSchedule<T>*>(call.prepared);
  const Operand &x = call.in(0), &y = call.out(0);
  if (y.empty()) return Status::ok;
  const auto plane_of = [&](std::int64_t plane) {
    StopPoll poll(call);
    Line<T> line{.x = x.data<const T>() + plane_offset(x, plane),
                 .number = plane * plan.x_plane,
                 .poll = &poll};
    for (std::int64_t i = 0; i < plan.lines; ++i) {
      if (poll.stops_before(plan.inner.out)) return;
      const Shape position = line_position(plan.outer, i);
      line.rows = tensor::window_at(plan.outer, x, position);
      line.y = y.data<T>() + plane_offset(y, plane) + i * plan.inner.out;
      if constexpr (kMaximum) {
        if (const Operand& indices = call.out(1); indices.present())
          line.at =
              indices.data<std::int64_t>() + plane_offset(indices, plane) + i * plan.inner.out;
        maximum_line(plan, x, line);
      } else {
        line.divisor = tensor::averaged_elements(plan.outer, position, plan.with_padding);
        average_line(plan, x, line);
      }
    }
  };
  if (call.max_threads > 1 && plan.planes * plan.lines * plan.inner.out > kThreadWork)
    parallel_for(plan.planes, call.max_threads, plane_of);
  else
    for (std::int64_t plane = 0; plane < plan.planes; ++plane) plane_of(plane);
  return call.ok_or_stopped();
}

template <class T, bool kMaximum>
Prepared prepare_typed(const PrepareCtx& ctx, const PoolGeometry& geometry) {
  auto plan = std::make_shared<PoolSchedule<T>>();
  const Operand &x = ctx.inputs[0], &y = ctx.outputs[0];
  plan->outer = outer_axes(geometry);
  plan->inner = geometry.axes[static_cast<std::size_t>(plan->outer.spatial)];
  plan->whole = tensor::whole_windows(plan->inner);
  plan->fns = fns_of<T>(simd_tables(ctx.isa));
  plan->with_padding = !kMaximum && ctx.attrs[tensor::kPoolOwn].integer() != 0;
  plan->planes = x.dims[0] * x.dims[1];
  for (int i = 2; i < x.rank; ++i) plan->x_plane *= x.dims[i];
  for (int i = 2; i + 1 < y.rank; ++i) plan->lines *= y.dims[i];
  return {.state = std::move(plan), .run = run<T, kMaximum>};
}

bool has_small_offsets(const Operand& x, const PoolGeometry& geometry) {
  std::int64_t plane = 1;
  for (int i = 2; i < x.rank; ++i) plane *= x.dims[i];
  const PoolAxis& inner = geometry.axes[static_cast<std::size_t>(geometry.spatial - 1)];
  return plane <= kMaxOfPlane && inner.pad <= kMaxOfPlane;
}

// Computes lines, one tap at a time.
Prepared prepare_lines(const PrepareCtx& ctx, const PoolGeometry& geometry, Fold fold) {
  const DType dtype = ctx.outputs[0].dtype;
  if (fold == Fold::average) {
    if (dtype == DType::f32) return prepare_typed<float, false>(ctx, geometry);
    if (dtype == DType::f64) return prepare_typed<double, false>(ctx, geometry);
  }
  if (fold == Fold::maximum) {
    if (!has_small_offsets(ctx.inputs[0], geometry))
      return Prepared::no("planes of 10^9 elements or more");
    if (dtype == DType::f32) return prepare_typed<float, true>(ctx, geometry);
    if (dtype == DType::f64) return prepare_typed<double, true>(ctx, geometry);
    if (dtype == DType::u8) return prepare_typed<std::uint8_t, true>(ctx, geometry);
    if (dtype == DType::i8) return prepare_typed<std::int8_t, true>(ctx, geometry);
  }
  return Prepared::no("an element type that only the reference kernel takes");
}

// The operators differ in one attribute and in the number of results.
std::optional<Fold> fold_of(const PrepareCtx& ctx) {
  if (ctx.outputs.size() == 2) return Fold::maximum;
  const tensor::Attr& own = ctx.attrs[tensor::kPoolOwn];
  if (own.kind() != tensor::AttrKind::real) return Fold::average;
  const double p = own.real();
  if (p == 1) return Fold::sum_of_magnitudes;
  if (p == 2) return Fold::root_of_squares;
  return std::nullopt;
}

std::optional<Refusal> why_not(const PrepareCtx& ctx) {
  if (!spatial_is_contiguous(ctx.inputs[0])) return "an operand that is not contiguous";
  for (const Operand& output : ctx.outputs)
    if (output.present() && !spatial_is_contiguous(output))
      return "a result that is not contiguous";
  return std::nullopt;
}

Prepared prepare(const PrepareCtx& ctx) {
  const std::optional<Fold> fold = fold_of(ctx);
  if (!fold) return Prepared::no("a norm of an order other than 1 and 2");
  const bool numbered = *fold == Fold::maximum && ctx.outputs[1].present();
  if (tensor::is_channels_last(ctx.inputs[0]) && !numbered) {
    const auto geometry = tensor::pool_geometry(ctx.inputs[0].shape(), ctx.attrs);
    if (!geometry) return Prepared::no("the operands do not fit the attributes");
    Prepared last = prepare_channels_last(ctx, *geometry, *fold);
    if (!last.refusal) return last;
  }
  if (auto why = why_not(ctx)) return Prepared::no(*std::move(why));
  if (numbered && ctx.attrs[tensor::kPoolOwn].integer() != 0)
    return Prepared::no("elements that are numbered with the first axis fastest");
  const auto geometry = tensor::pool_geometry(ctx.inputs[0].shape(), ctx.attrs);
  if (!geometry) return Prepared::no("the operands do not fit the attributes");
  if (!numbered && !ctx.inputs[0].empty() && !ctx.outputs[0].empty()) {
    Prepared bands = prepare_bands(ctx, *geometry, *fold);
    if (!bands.refusal) return bands;
    Prepared rows = prepare_rows(ctx, *geometry, *fold);
    if (!rows.refusal) return rows;
  }
  return prepare_lines(ctx, *geometry, *fold);
}

}  // namespace
}  // namespace pool

extern constinit const KernelDef pool_kernel{
    .name = "pool",
    .doc = "Averages, norms and maxima of windows over lines of the result.",
    .prepare = pool::prepare,
    .run = pool::run<float, false>,
    .leaves_out_unread = true,
};

}  // namespace scanloom::kernels
