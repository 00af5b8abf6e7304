// resample: sums of few weighted elements along one axis, or copies of the nearest. Where another
// axis is adjacent in memory its rows are summed; along an adjacent axis elements are permuted in
// registers (resample_fns.h). Both take the order of the reference.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/copy_plan.h"
#include "kernels/kernel.h"
#include "kernels/line_axis.h"
#include "kernels/resample_table.h"
#include "kernels/simd.h"
#include "tensor/paced_poll.h"
#include "tensor/visit.h"

namespace scanloom::kernels {
namespace {
namespace resample {

using tensor::Attr;
using tensor::Call;
using tensor::Operand;
using tensor::Status;

enum Input : std::size_t { kX, kSize, kScale, kRegion };
enum AttrIndex : std::size_t { kAxis, kMode, kCoordinates, kCubic, kAntialias, kExcludeOutside };

/// Upper bound on the entries of a table; longer axes are left to the reference kernel.
constexpr std::int64_t kMaxEntries = std::int64_t{1} << 20;
constexpr std::int64_t kAlignment = 64;

struct ResampleSchedule {
  LineAxis axis;  ///< that is resampled; the size is that of the result
  std::int64_t in = 0, taps = 1;
  bool along = false;           ///< the axis itself is adjacent in memory
  std::int64_t row = 1;         ///< elements of a row, unless `along`
  std::vector<LineAxis> outer;  ///< the axes besides the axis and the row
  std::int64_t outer_count = 1;
  CopyPlan block;  ///< nearest: one slice across the axis, unless `along`
  const SimdTables* tables = nullptr;
  /// Empty if the scale is not a constant: then each run makes the table.
  std::vector<std::int32_t> sources;
  std::vector<double> weights;  ///< memory for elements of either type
  bool has_zeros = false, ascends = true;

  [[nodiscard]] std::int64_t entries() const { return taps * axis.size; }
};

Resampling resampling_of(std::span<const Attr> attrs, std::int64_t in, std::int64_t out,
                         double scale) {
  return {.mode = attrs[kMode].text(),
          .coordinates = attrs[kCoordinates].text(),
          .cubic = attrs[kCubic].real(),
          .antialias = attrs[kAntialias].integer() != 0,
          .exclude_outside = attrs[kExcludeOutside].integer() != 0,
          .in = in,
          .out = out,
          .scale = scale};
}

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// The table of a run: that of the schedule, or one in scratch memory. Null sources: the scale is
/// invalid.
template <class T>
ResampleTable<T> table_of(const ResampleSchedule& plan, const Call& call, bool has_weights) {
  ResampleTable<T> table{.has_zeros = plan.has_zeros, .ascends = plan.ascends};
  if (!plan.sources.empty()) {
    table.sources = const_cast<std::int32_t*>(plan.sources.data());
    if (has_weights)
      table.weights = const_cast<T*>(reinterpret_cast<const T*>(plan.weights.data()));
    return table;
  }
  const Resampling of = resampling_of({call.attrs, kExcludeOutside + 1}, plan.in, plan.axis.size,
                                      *call.in(kScale).data<const double>());
  if (!of.has_valid_scale()) return table;
  table.sources = reinterpret_cast<std::int32_t*>(*call.scratch);
  if (has_weights)
    table.weights = reinterpret_cast<T*>(
        *call.scratch + aligned(plan.entries() * static_cast<std::int64_t>(sizeof(std::int32_t))));
  fill_table(of, table);
  return table;
}

Status fail_scale(const Call& call) {
  return call.fail("the scale of axis {} is too small, too large or not a number",
                   call.attrs[kAxis].integer() < 0 ? call.attrs[kAxis].integer() + call.in(kX).rank
                                                   : call.attrs[kAxis].integer());
}

/// Calls f(outer index, its offsets in x and y) for all, shared among threads if that pays.
template <class F>
void for_each_part(const ResampleSchedule& plan, const Call& call, std::int64_t parts, F&& f) {
  constexpr std::int64_t kMaxShares = 64;
  const std::int64_t elements = plan.outer_count * plan.axis.size * plan.row;
  const bool is_large = call.max_threads > 1 && elements * plan.taps >= kMinThreadedElements;
  const std::int64_t shares = is_large ? std::min(parts, kMaxShares) : 1;
  const std::int64_t work = elements * plan.taps / std::max<std::int64_t>(parts, 1);
  const auto run = [&](std::int64_t share) {
    if (shares > 1 && call.stop_requested()) return;
    tensor::PacedPoll poll(call);
    const std::int64_t end = parts * (share + 1) / shares;
    for (std::int64_t i = parts * share / shares; i < end && !poll.stops(work); ++i) f(i);
  };
  shares > 1 ? parallel_for(shares, call.max_threads, run) : run(0);
}

struct Offsets {
  std::int64_t x = 0, y = 0;
};

Offsets offsets_of(const ResampleSchedule& plan, std::int64_t index) {
  Offsets at;
  for (std::size_t i = plan.outer.size(); i-- > 0;) {
    const LineAxis& axis = plan.outer[i];
    at.x += index % axis.size * axis.x;
    at.y += index % axis.size * axis.y;
    index /= axis.size;
  }
  return at;
}

template <class T>
const ResampleFns<T>& fns_of(const SimdTables& tables) {
  if constexpr (std::is_same_v<T, float>)
    return tables.f32_resample;
  else
    return tables.f64_resample;
}

/// Sums whole rows: element o of the result is a row of its own.
template <class T>
void sum_rows(const ResampleSchedule& plan, const Call& call, const ResampleTable<T>& table) {
  const ResampleFns<T>& fns = fns_of<T>(*plan.tables);
  for_each_part(plan, call, plan.outer_count * plan.axis.size, [&](std::int64_t part) {
    constexpr std::int64_t kTaps = 16;
    const std::int64_t o = part % plan.axis.size;
    const Offsets at = offsets_of(plan, part / plan.axis.size);
    const T* const from = call.in(kX).data<const T>() + at.x;
    T* const to = call.out(0).data<T>() + at.y + o * plan.axis.y;
    std::array<const T*, kTaps> rows{};
    std::array<T, kTaps> weights{};
    std::int64_t count = 0;
    for (std::int64_t t = 0; t < plan.taps; ++t) {
      const auto entry = t * plan.axis.size + o;
      if (table.weights[entry] == 0) continue;
      rows[static_cast<std::size_t>(count)] = from + table.sources[entry] * plan.axis.x;
      weights[static_cast<std::size_t>(count++)] = table.weights[entry];
    }
    fns.rows({rows.data(), weights.data(), count, plan.row, to});
  });
}

template <class T>
void sum_along(const ResampleSchedule& plan, const Call& call, const ResampleTable<T>& table) {
  const ResampleFns<T>& fns = fns_of<T>(*plan.tables);
  for_each_part(plan, call, plan.outer_count, [&](std::int64_t part) {
    const Offsets at = offsets_of(plan, part);
    fns.line({.from = call.in(kX).data<const T>() + at.x,
              .to = call.out(0).data<T>() + at.y,
              .size = table.ascends ? plan.in : 0,
              .length = plan.axis.size,
              .taps = plan.taps,
              .sources = table.sources,
              .weights = table.weights,
              .has_zeros = table.has_zeros});
  });
}

template <class T>
Status run_sums(const Call& call) noexcept {
  const auto& plan = *static_cast<const ResampleSchedule*>(call.prepared);
  const ResampleTable<T> table = table_of<T>(plan, call, /*has_weights=*/true);
  if (table.sources == nullptr) return fail_scale(call);
  plan.along ? sum_along(plan, call, table) : sum_rows(plan, call, table);
  return call.ok_or_stopped();
}

template <class T>
Status run_nearest(const Call& call) noexcept {
  const auto& plan = *static_cast<const ResampleSchedule*>(call.prepared);
  const ResampleTable<float> table = table_of<float>(plan, call, /*has_weights=*/false);
  if (table.sources == nullptr) return fail_scale(call);
  if (!plan.along) {
    constexpr std::int64_t kBytes = sizeof(T);
    for_each_part(plan, call, plan.axis.size, [&](std::int64_t o) {
      run_copy(plan.block,
               call.in(kX).data<const std::byte>() + table.sources[o] * plan.axis.x * kBytes,
               call.out(0).data<std::byte>() + o * plan.axis.y * kBytes);
    });
    return call.ok_or_stopped();
  }
  for_each_part(plan, call, plan.outer_count, [&](std::int64_t part) {
    const Offsets at = offsets_of(plan, part);
    const T* const from = call.in(kX).data<const T>() + at.x;
    T* const to = call.out(0).data<T>() + at.y;
    for (std::int64_t o = 0; o < plan.axis.size; ++o) to[o] = from[table.sources[o]];
  });
  return call.ok_or_stopped();
}

Status run_repeats(const Call& call) noexcept {
  const auto& plan = *static_cast<const ResampleSchedule*>(call.prepared);
  run_copy(plan.block, call.in(kX).data<const std::byte>(), call.out(0).data<std::byte>(), call);
  return call.ok_or_stopped();
}

/// Returns how often each source is repeated, if all sources are, equally often and in order; else
/// 0.
std::int64_t repeats_in(const ResampleSchedule& plan) {
  if (plan.sources.empty() || plan.axis.size % plan.in != 0) return 0;
  const std::int64_t times = plan.axis.size / plan.in;
  for (std::int64_t o = 0; o < plan.axis.size; ++o)
    if (plan.sources[static_cast<std::size_t>(o)] != o / times) return 0;
  return times;
}

/// A copy that repeats every element along the axis.
CopyPlan plan_repeats(const PrepareCtx& ctx, int axis, std::int64_t times) {
  const Operand &x = ctx.inputs[kX], &y = ctx.outputs[0];
  tensor::Shape dims = x.shape(), from(std::span(x.strides, static_cast<std::size_t>(x.rank))),
                to(std::span(y.strides, static_cast<std::size_t>(y.rank)));
  to[axis] *= times;
  dims.push_back(times);
  from.push_back(0);
  to.push_back(y.strides[axis]);
  return plan_copy(dims.dims(), from.data(), to.data(), static_cast<int>(dtype_bytes(x.dtype)),
                   ctx.isa);
}

/// A copy of one slice across the axis.
CopyPlan plan_slice(const PrepareCtx& ctx, int axis) {
  const Operand &x = ctx.inputs[kX], &y = ctx.outputs[0];
  tensor::Shape dims = x.shape(), from(std::span(x.strides, static_cast<std::size_t>(x.rank))),
                to(std::span(y.strides, static_cast<std::size_t>(y.rank)));
  dims.erase(axis);
  from.erase(axis);
  to.erase(axis);
  return plan_copy(dims.dims(), from.data(), to.data(), static_cast<int>(dtype_bytes(x.dtype)),
                   ctx.isa);
}

/// Sets the axes besides `axis`, neighbours joined. Takes a row out of them if one is adjacent in
/// both operands.
void lay_out_axes(const PrepareCtx& ctx, int axis, ResampleSchedule& plan) {
  const Operand &x = ctx.inputs[kX], &y = ctx.outputs[0];
  plan.axis = {y.dims[axis], x.strides[axis], y.strides[axis]};
  plan.in = x.dims[axis];
  for (int i = 0; i < x.rank; ++i) {
    if (i == axis || x.dims[i] == 1) continue;
    const LineAxis inner{x.dims[i], x.strides[i], y.strides[i]};
    LineAxis* const last = plan.outer.empty() ? nullptr : &plan.outer.back();
    if (last != nullptr && last->x == inner.x * inner.size && last->y == inner.y * inner.size)
      *last = {last->size * inner.size, inner.x, inner.y};
    else
      plan.outer.push_back(inner);
  }
  plan.along = (plan.axis.x == 1 || plan.in == 1) && (plan.axis.y == 1 || plan.axis.size == 1);
  if (!plan.along) {
    const auto row =
        std::ranges::find_if(plan.outer, [](const LineAxis& at) { return at.x == 1 && at.y == 1; });
    if (row != plan.outer.end()) {
      plan.row = row->size;
      plan.outer.erase(row);
    }
  }
  for (const LineAxis& at : plan.outer) plan.outer_count *= at.size;
}

/// Makes the table at binding. Returns false if the scale is invalid, which the reference reports.
template <class T>
bool make_table(const Resampling& of, ResampleSchedule& plan, bool has_weights) {
  if (!of.has_valid_scale()) return false;
  plan.sources.resize(static_cast<std::size_t>(plan.entries()));
  plan.weights.resize(has_weights ? static_cast<std::size_t>(plan.entries()) : 0);
  ResampleTable<T> table{.sources = plan.sources.data()};
  if (has_weights) table.weights = reinterpret_cast<T*>(plan.weights.data());
  fill_table(of, table);
  plan.has_zeros = table.has_zeros;
  plan.ascends = table.ascends;
  return true;
}

Prepared prepare_nearest(const PrepareCtx& ctx, int axis, std::shared_ptr<ResampleSchedule> plan) {
  const std::int64_t times = ctx.inputs[kX].rank < tensor::kMaxRank ? repeats_in(*plan) : 0;
  plan->block = times > 0 ? plan_repeats(ctx, axis, times) : plan_slice(ctx, axis);
  const tensor::KernelFn run = tensor::visit_bytes(
      ctx.outputs[0].dtype,
      []<class T>(std::type_identity<T>) -> tensor::KernelFn { return run_nearest<T>; });
  return {.state = std::move(plan), .run = times > 0 ? run_repeats : run};
}

Prepared prepare_resample(const PrepareCtx& ctx) {
  const Operand &x = ctx.inputs[kX], &y = ctx.outputs[0];
  if (x.empty() || y.empty()) return Prepared::no("no elements to compute");
  if (ctx.attrs[kCoordinates].text() == "tf_crop_and_resize")
    return Prepared::no("a region, which may lie outside of x");
  const std::int64_t given = ctx.attrs[kAxis].integer();
  const auto axis = static_cast<int>(given < 0 ? given + x.rank : given);
  auto plan = std::make_shared<ResampleSchedule>();
  lay_out_axes(ctx, axis, *plan);
  const auto* const scale = static_cast<const double*>(ctx.constants[kScale]);
  const Resampling of =
      resampling_of(ctx.attrs, plan->in, plan->axis.size, scale != nullptr ? *scale : 1);
  if (scale == nullptr && of.antialias) return Prepared::no("a stretched filter of unknown length");
  if (scale != nullptr && !of.has_valid_scale()) return Prepared::no("an invalid scale");
  plan->taps = taps_of(of);
  if (plan->axis.size > kMaxEntries || plan->in > kMaxEntries || plan->entries() > kMaxEntries)
    return Prepared::no("a very long axis");
  plan->tables = &simd_tables(ctx.isa);
  const bool is_double = y.dtype == DType::f64, nearest = of.mode.starts_with("nearest_");
  if (scale != nullptr)
    is_double ? make_table<double>(of, *plan, !nearest) : make_table<float>(of, *plan, !nearest);
  const std::int64_t scratch =
      scale != nullptr ? 0 : aligned(plan->entries() * 4) + (nearest ? 0 : plan->entries() * 8);
  if (nearest) {
    Prepared made = prepare_nearest(ctx, axis, std::move(plan));
    made.scratch_bytes = scratch;
    return made;
  }
  constexpr std::int64_t kMaxTaps = 16;
  if (!plan->along && plan->taps > kMaxTaps) return Prepared::no("a long filter");
  return {.state = std::move(plan),
          .scratch_bytes = scratch,
          .run = is_double ? run_sums<double> : run_sums<float>};
}

}  // namespace resample
}  // namespace

extern constinit const KernelDef resample_kernel{
    .name = "resample",
    .doc = "Sums of weighted rows, or of elements permuted in registers, with tables of positions.",
    .prepare = resample::prepare_resample,
    .run = resample::run_sums<float>,
};

}  // namespace scanloom::kernels
