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
// Taps between two questions whether to stop.
constexpr std::int64_t kTapsBetweenQuestions = 100'000;
// Windows whose taps are kept on the stack.
constexpr std::int64_t kWindowsAtOnce = 256;
// Offsets of taps are kept in 32 bits.
constexpr std::int64_t kMostOfPlane = std::numeric_limits<std::int32_t>::max() / 2;

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

// Asks now and then whether the run is to end.
class Pace {
 public:
  explicit Pace(const Call& call) : call_(call) {}

  [[nodiscard]] bool stops_before(std::int64_t taps) {
    taps_ += taps;
    if (taps_ < kTapsBetweenQuestions) return stopped_;
    taps_ = 0;
    return stopped_ = stopped_ || call_.stop_requested();
  }

 private:
  const Call& call_;
  std::int64_t taps_ = 0;
  bool stopped_ = false;
};

// A line of the result: which rows of x its windows see.
template <class T>
struct Line {
  const T* x;               ///< the plane
  std::int64_t number = 0;  ///< of the plane's first element
  PoolWindow rows;
  double divisor = 1;  ///< of an average: rows that count, which may be more than fit in 64 bits
  T* y;
  std::int64_t* at = nullptr;
  Pace* pace = nullptr;
};

// f(offset of the row in the plane) for every row that the line's windows see, in order.
template <class T, class F>
void for_each_row(const Schedule<T>& plan, const Operand& x, const Line<T>& line, F&& f) {
  if (plan.outer.spatial == 0) return f(std::int64_t{0});
  tensor::for_each_tap(plan.outer, x, line.rows, f);
}

// f(window, its taps) for those along the last axis that do not lie in x as a whole.
template <class T, class F>
void for_each_edge(const Schedule<T>& plan, const Line<T>& line, F&& f) {
  const auto visit = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t o = first; o < last; ++o) {
      const PoolTaps taps = tensor::taps_within(plan.inner, o, 0, plan.inner.in);
      if (line.pace->stops_before(1 + taps.last - taps.first)) return;
      f(o, taps);
    }
  };
  visit(0, plan.begin);
  visit(plan.end, plan.inner.out);
}

template <class T>
void average_line(const Schedule<T>& plan, const Operand& x, const Line<T>& line) {
  const PoolAxis& axis = plan.inner;
  const std::int64_t whole = plan.end - plan.begin;
  std::fill_n(line.y, axis.out, T{0});
  for_each_row(plan, x, line, [&](std::int64_t row) {
    const T* const from = line.x + row;
    const std::int64_t start = plan.begin * axis.stride - axis.pad;
    for (std::int64_t k = 0; whole > 0 && k < axis.kernel; ++k) {
      if (line.pace->stops_before(whole)) return;
      plan.fns.add({.x = from + start + k * axis.dilation,
                    .step = axis.stride,
                    .count = whole,
                    .y = line.y + plan.begin});
    }
    for_each_edge(plan, line, [&](std::int64_t o, const PoolTaps& taps) {
      const std::int64_t at = o * axis.stride - axis.pad;
      for (std::int64_t k = taps.first; k < taps.last; ++k)
        line.y[o] += from[at + k * axis.dilation];
    });
  });
  for_each_edge(plan, line, [&](std::int64_t o, PoolTaps taps) {
    if (plan.with_padding) taps = tensor::taps_within(axis, o, -axis.pad, axis.covered - axis.pad);
    line.y[o] /= static_cast<T>(line.divisor * static_cast<double>(taps.last - taps.first));
  });
  const auto count = static_cast<T>(line.divisor * static_cast<double>(axis.kernel));
  for (std::int64_t o = plan.begin; o < plan.end; ++o) line.y[o] /= count;
}

template <class T>
void take(const Line<T>& line, std::int64_t o, std::int64_t offset) {
  const T value = line.x[offset], best = line.y[o];
  if (line.at[o] >= 0 && !(value > best || (value != value && best == best))) return;
  line.y[o] = value;
  line.at[o] = line.number + offset;
}

// Windows [first, first + count), which lie in x along the last axis. Of each the tap is kept that
// was taken last, as the offset between the window's place and the element.
template <class T>
void maximum_of_whole(const Schedule<T>& plan, const Operand& x, const Line<T>& line,
                      std::int64_t first, std::int64_t count) {
  const PoolAxis& axis = plan.inner;
  std::int32_t taps[kWindowsAtOnce];
  bool is_first = true;
  for_each_row(plan, x, line, [&](std::int64_t row) {
    for (std::int64_t k = 0; k < axis.kernel; ++k) {
      if (line.pace->stops_before(count)) return;
      const std::int64_t tap = row + k * axis.dilation - axis.pad;
      const T* const from = line.x + tap + first * axis.stride;
      // The first tap of a window is taken whatever it is.
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
  if (is_first) return;  // no row lies in x
  for (std::int64_t i = 0; i < count; ++i)
    line.at[first + i] = line.number + taps[i] + (first + i) * axis.stride;
}

template <class T>
void maximum_line(const Schedule<T>& plan, const Operand& x, const Line<T>& line) {
  const PoolAxis& axis = plan.inner;
  std::fill_n(line.y, axis.out, least<T>());
  std::fill_n(line.at, axis.out, std::int64_t{-1});
  for (std::int64_t o = plan.begin; o < plan.end; o += kWindowsAtOnce)
    maximum_of_whole(plan, x, line, o, std::min(kWindowsAtOnce, plan.end - o));
  if (plan.begin == 0 && plan.end == axis.out) return;
  for_each_row(plan, x, line, [&](std::int64_t row) {
    for_each_edge(plan, line, [&](std::int64_t o, const PoolTaps& taps) {
      for (std::int64_t k = taps.first; k < taps.last; ++k)
        take(line, o, row + o * axis.stride - axis.pad + k * axis.dilation);
    });
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
    line.divisor *= static_cast<double>(counted.last - counted.first);
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
    Pace pace(call);
    const std::int64_t image = plane / x.dims[1], channel = plane % x.dims[1];
    const auto first = [&](const Operand& operand) {
      return image * operand.strides[0] + channel * operand.strides[1];
    };
    Line<T> line{.x = x.data<const T>() + first(x), .number = plane * plan.x_plane, .pace = &pace};
    for (std::int64_t i = 0; i < plan.lines; ++i) {
      if (pace.stops_before(plan.inner.out)) return;
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
  return call.ok_or_stopped();
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
  // The last place from which all taps lie in x; they are so few that none of this overflows.
  const std::int64_t last = axis.in - 1 - (axis.kernel - 1) * axis.dilation + axis.pad;
  plan->begin = std::min(axis.out, (axis.pad + axis.stride - 1) / axis.stride);
  plan->end = last < 0 ? 0 : std::min(axis.out, last / axis.stride + 1);
  plan->end = std::max(plan->begin, plan->end);
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

bool has_small_offsets(const Operand& x, const PoolGeometry& geometry) {
  std::int64_t plane = 1;
  for (int i = 2; i < x.rank; ++i) plane *= x.dims[i];
  const PoolAxis& inner = geometry.axes[static_cast<std::size_t>(geometry.spatial - 1)];
  return plane <= kMostOfPlane && inner.pad <= kMostOfPlane;
}

Prepared prepare(const PrepareCtx& ctx) {
  const bool maximum = ctx.outputs.size() == 2;
  if (const char* why = why_not(ctx, maximum)) return Prepared::no(why);
  const auto geometry = tensor::pool_geometry(ctx.inputs[0].shape(), ctx.attrs);
  if (!geometry) return Prepared::no("the operands do not fit the attributes");
  if (maximum && !has_small_offsets(ctx.inputs[0], *geometry))
    return Prepared::no("planes of a thousand million elements");
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
