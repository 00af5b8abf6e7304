// pool: averages and maxima of windows, a line of the result at a time. Of the windows that lie in
// x along the last axis every tap is taken for all at once, in the order of the operators; the
// others are taken one by one.
#include <algorithm>
#include <concepts>
#include <limits>
#include <memory>

#include "base/thread_pool.h"
#include "kernels/kernel.h"
#include "kernels/simd.h"
#include "tensor/conv_geometry.h"
#include "tensor/pool_geometry.h"

namespace scanloom::kernels {
namespace {

using tensor::Call;
using tensor::Operand;
using tensor::PoolAxis;
using tensor::PoolGeometry;
using tensor::PoolTaps;
using tensor::PoolWindow;
using tensor::Shape;
using tensor::Status;

// Elements of the result from which threads share the planes.
constexpr std::int64_t kThreadWork = 20'000;

template <class T>
struct Schedule {
  PoolGeometry outer;  ///< all axes but the last
  PoolAxis inner;
  PoolFns<T> fns;
  bool with_padding = false;           ///< averages count it
  std::int64_t begin = 0, end = 0;     ///< along the last axis: windows that lie in x
  std::int64_t planes = 1, lines = 1;  ///< lines of a plane
  std::int64_t x_plane = 1;
};

template <class T>
T least() {
  if constexpr (std::floating_point<T>) return -std::numeric_limits<T>::infinity();
  return std::numeric_limits<T>::min();
}

// A line of the result: which rows of x its windows see.
template <class T>
struct Line {
  const T* x;               ///< the plane
  std::int64_t number = 0;  ///< of the plane's first element
  PoolWindow rows;
  std::int64_t divisor = 1;  ///< of an average: rows that count
  T* y;
  std::int64_t* at = nullptr;
};

// f(offset of the row in the plane) for every row that the line's windows see, in order.
template <class T, class F>
void for_each_row(const Schedule<T>& plan, const Operand& x, const Line<T>& line, F&& f) {
  if (plan.outer.spatial == 0) return f(std::int64_t{0});
  tensor::for_each_tap(plan.outer, x, line.rows, f);
}

template <class T>
void average_line(const Schedule<T>& plan, const Operand& x, const Line<T>& line) {
  const PoolAxis& axis = plan.inner;
  std::fill_n(line.y, axis.out, T{0});
  for_each_row(plan, x, line, [&](std::int64_t row) {
    const T* const from = line.x + row;
    const std::int64_t start = plan.begin * axis.stride - axis.pad;
    if (plan.begin < plan.end)
      for (std::int64_t k = 0; k < axis.kernel; ++k)
        plan.fns.add({.x = from + start + k * axis.dilation,
                      .step = axis.stride,
                      .count = plan.end - plan.begin,
                      .y = line.y + plan.begin});
    for (std::int64_t o = 0; o < axis.out; ++o) {
      if (o == plan.begin && plan.begin < plan.end) o = plan.end;
      if (o == axis.out) break;
      const PoolTaps taps = tensor::taps_within(axis, o, 0, axis.in);
      const std::int64_t at = o * axis.stride - axis.pad;
      for (std::int64_t k = taps.first; k < taps.last; ++k)
        line.y[o] += from[at + k * axis.dilation];
    }
  });
  const auto divide = [&](std::int64_t o) {
    const PoolTaps taps = plan.with_padding
                              ? tensor::taps_within(axis, o, -axis.pad, axis.covered - axis.pad)
                              : tensor::taps_within(axis, o, 0, axis.in);
    line.y[o] /= static_cast<T>(line.divisor * (taps.last - taps.first));
  };
  for (std::int64_t o = 0; o < std::min(plan.begin, axis.out); ++o) divide(o);
  const auto count = static_cast<T>(line.divisor * axis.kernel);
  for (std::int64_t o = plan.begin; o < plan.end; ++o) line.y[o] /= count;
  for (std::int64_t o = std::max(plan.begin, plan.end); o < axis.out; ++o) divide(o);
}

template <class T>
void take(const Line<T>& line, std::int64_t o, std::int64_t offset) {
  const T value = line.x[offset], best = line.y[o];
  if (line.at[o] >= 0 && !(value > best || (value != value && best == best))) return;
  line.y[o] = value;
  line.at[o] = line.number + offset;
}

template <class T>
void maximum_line(const Schedule<T>& plan, const Operand& x, const Line<T>& line) {
  const PoolAxis& axis = plan.inner;
  std::fill_n(line.y, axis.out, least<T>());
  std::fill_n(line.at, axis.out, std::int64_t{-1});
  bool is_first = true;
  for_each_row(plan, x, line, [&](std::int64_t row) {
    const std::int64_t start = row + plan.begin * axis.stride - axis.pad;
    // The first tap of a window is taken whatever it is.
    if (is_first)
      for (std::int64_t o = plan.begin; o < plan.end; ++o)
        take(line, o, row + o * axis.stride - axis.pad);
    if (plan.begin < plan.end)
      for (std::int64_t k = is_first ? 1 : 0; k < axis.kernel; ++k)
        plan.fns.take_greater({.x = line.x + start + k * axis.dilation,
                               .step = axis.stride,
                               .count = plan.end - plan.begin,
                               .first = line.number + start + k * axis.dilation,
                               .y = line.y + plan.begin,
                               .at = line.at + plan.begin});
    is_first = false;
    for (std::int64_t o = 0; o < axis.out; ++o) {
      if (o == plan.begin && plan.begin < plan.end) o = plan.end;
      if (o == axis.out) break;
      const PoolTaps taps = tensor::taps_within(axis, o, 0, axis.in);
      for (std::int64_t k = taps.first; k < taps.last; ++k)
        take(line, o, row + o * axis.stride - axis.pad + k * axis.dilation);
    }
  });
}

// The rows that a line sees: of the line with that number in a plane.
template <class T>
void place_rows(const Schedule<T>& plan, const Operand& x, std::int64_t number, Line<T>& line) {
  line.rows.first = 0;
  line.divisor = 1;
  for (int i = plan.outer.spatial - 1; i >= 0; --i) {
    const auto at = static_cast<std::size_t>(i);
    const PoolAxis& axis = plan.outer.axes[at];
    const std::int64_t position = number % axis.out;
    number /= axis.out;
    const PoolTaps taps = tensor::taps_within(axis, position, 0, axis.in);
    const PoolTaps counted =
        plan.with_padding ? tensor::taps_within(axis, position, -axis.pad, axis.covered - axis.pad)
                          : taps;
    line.rows.taps[at] = taps;
    line.divisor *= counted.last - counted.first;
    // Places outside may lie so far away that their offsets overflow.
    if (taps.first == taps.last) continue;
    line.rows.first +=
        (position * axis.stride - axis.pad + taps.first * axis.dilation) * x.strides[i + 2];
  }
}

template <class T, bool kMaximum>
Status run(const Call& call) noexcept {
  const Schedule<T>& plan = *static_cast<const Schedule<T>*>(call.prepared);
  const Operand &x = call.in(0), &y = call.out(0);
  if (y.empty()) return Status::ok;
  const auto plane_of = [&](std::int64_t plane) {
    const std::int64_t image = plane / x.dims[1], channel = plane % x.dims[1];
    const auto first = [&](const Operand& operand) {
      return image * operand.strides[0] + channel * operand.strides[1];
    };
    Line<T> line{.x = x.data<const T>() + first(x), .number = plane * plan.x_plane};
    for (std::int64_t i = 0; i < plan.lines; ++i) {
      place_rows(plan, x, i, line);
      line.y = y.data<T>() + first(y) + i * plan.inner.out;
      if constexpr (kMaximum) {
        const Operand& indices = call.out(1);
        line.at = indices.data<std::int64_t>() + first(indices) + i * plan.inner.out;
        maximum_line(plan, x, line);
      } else {
        average_line(plan, x, line);
      }
    }
  };
  if (call.max_threads > 1 && plan.planes * plan.lines * plan.inner.out > kThreadWork)
    parallel_for(plan.planes, call.max_threads, plane_of);
  else
    for (std::int64_t plane = 0; plane < plan.planes; ++plane) plane_of(plane);
  return Status::ok;
}

template <class T, bool kMaximum>
Prepared prepare_typed(const PrepareCtx& ctx, const PoolGeometry& geometry, PoolFns<T> fns) {
  auto plan = std::make_shared<Schedule<T>>();
  const Operand &x = ctx.inputs[0], &y = ctx.outputs[0];
  plan->outer = geometry;
  plan->outer.spatial = geometry.spatial - 1;
  plan->inner = geometry.axes[static_cast<std::size_t>(plan->outer.spatial)];
  plan->fns = fns;
  plan->with_padding = !kMaximum && ctx.attrs[tensor::kPoolOwn].integer() != 0;
  plan->planes = x.dims[0] * x.dims[1];
  for (int i = 2; i < x.rank; ++i) plan->x_plane *= x.dims[i];
  for (int i = 2; i + 1 < y.rank; ++i) plan->lines *= y.dims[i];
  const PoolAxis& axis = plan->inner;
  const auto inside = [&](std::int64_t o) {
    const PoolTaps taps = tensor::taps_within(axis, o, 0, axis.in);
    return taps.first == 0 && taps.last == axis.kernel;
  };
  while (plan->begin < axis.out && !inside(plan->begin)) ++plan->begin;
  plan->end = plan->begin;
  while (plan->end < axis.out && inside(plan->end)) ++plan->end;
  return {.state = std::move(plan), .run = run<T, kMaximum>};
}

const char* why_not(const PrepareCtx& ctx, bool maximum) {
  if (!spatial_is_contiguous(ctx.inputs[0])) return "an operand that is not contiguous";
  for (const Operand& output : ctx.outputs)
    if (!output.present() || !spatial_is_contiguous(output))
      return "a result that is not contiguous";
  if (maximum && ctx.attrs[tensor::kPoolOwn].integer() != 0)
    return "elements that are numbered with the first axis fastest";
  return nullptr;
}

Prepared prepare(const PrepareCtx& ctx) {
  const bool maximum = ctx.outputs.size() == 2;
  if (const char* why = why_not(ctx, maximum)) return Prepared::no(why);
  const auto geometry = tensor::pool_geometry(ctx.inputs[0].shape(), ctx.attrs);
  if (!geometry) return Prepared::no("the operands do not fit the attributes");
  const SimdTables& tables = simd_tables(ctx.isa);
  switch (ctx.outputs[0].dtype) {
    case DType::f32:
      return maximum ? prepare_typed<float, true>(ctx, *geometry, tables.f32_pool)
                     : prepare_typed<float, false>(ctx, *geometry, tables.f32_pool);
    case DType::f64:
      return maximum ? prepare_typed<double, true>(ctx, *geometry, tables.f64_pool)
                     : prepare_typed<double, false>(ctx, *geometry, tables.f64_pool);
    case DType::u8:
      if (maximum) return prepare_typed<std::uint8_t, true>(ctx, *geometry, tables.u8_pool);
      break;
    case DType::i8:
      if (maximum) return prepare_typed<std::int8_t, true>(ctx, *geometry, tables.i8_pool);
      break;
    default:
      break;
  }
  return Prepared::no("only f32 and f64, and bytes of maxima");
}

}  // namespace

extern constinit const KernelDef pool_kernel{
    .name = "pool",
    .doc = "Averages and maxima of windows, tap by tap over lines of the result.",
    .prepare = prepare,
    .run = run<float, false>,
};

}  // namespace scanloom::kernels
