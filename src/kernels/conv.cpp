// conv: a convolution of f32 or f64 as matrix products, in the order of sums that
// ops/conv_pool/conv.cpp states. Constant weights of many filters are packed in blocks of filters
// (conv_planes.h). Otherwise vectors lie along the output positions if there are enough of them
// (weights are then read in place), or along the filters (weights are packed). Windows are
// read from padded planes (conv_planes.h), or unfolded range by range, unless x can be read as the
// unfolded matrix. What follows the convolution in the same call is computed range by range too
// (conv_epilogue.h).
#include <algorithm>
#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/any_address.h"
#include "kernels/conv_depthwise.h"
#include "kernels/conv_epilogue.h"
#include "kernels/conv_planes.h"
#include "kernels/conv_trim.h"
#include "kernels/conv_unfold.h"
#include "kernels/conv_winograd.h"
#include "kernels/isa_tables.h"
#include "kernels/kernel.h"
#include "kernels/simd.h"
#include "opmath/winograd.h"

namespace scanloom::kernels {
namespace {
namespace conv {

using tensor::Call;
using tensor::ConvGeometry;
using tensor::Operand;
using tensor::Status;

template <class T>
struct ConvSchedule {
  const ProductFns<T>* fns = nullptr;
  ConvGeometry geometry;
  std::int64_t k = 0, positions = 0;
  std::int64_t x_image = 0, x_channel = 0, x_axis[tensor::kMaxSpatial] = {};
  std::int64_t w_filter = 0, y_image = 0, y_filter = 0;
  bool along_positions = false;  ///< vectors lie along output positions, otherwise along filters
  bool unfolds = true;           ///< otherwise x is read in place, by x_position and x_k
  std::int64_t x_position = 0, x_k = 0;
  UnfoldedRanges ranges;
  ConvEpilogue epilogue;
  std::int64_t packed_size = 0;        ///< per group
  std::shared_ptr<const void> packed;  ///< null along filters: packed at the start of a call

  [[nodiscard]] std::int64_t padded_filters() const {
    return (geometry.filters + fns->panel - 1) / fns->panel * fns->panel;
  }
  [[nodiscard]] std::int64_t tasks() const {
    return geometry.batch * geometry.group * ranges.count;
  }
  /// Bytes of an unfolded range and of the epilogue's scratch, in whole cache lines.
  [[nodiscard]] std::int64_t unfolded_bytes() const {
    const std::int64_t elements = unfolds ? k * ranges.size : 0;
    return (elements * static_cast<std::int64_t>(sizeof(T)) + 63) / 64 * 64;
  }
  [[nodiscard]] std::int64_t slot_bytes() const {
    return unfolded_bytes() + epilogue.scratch_bytes();
  }
};

template <class T>
void pack_group(const ConvSchedule<T>& plan, const T* w, std::int64_t group, T* to) {
  const T* from = w + group * plan.geometry.filters * plan.w_filter;
  pack(*plan.fns, MatrixB<T>{from, plan.k, plan.geometry.filters, 1, plan.w_filter},
       to + group * plan.packed_size, 1);
}

// Scratch of a call: a slot per thread, then packed weights and biases if needed.
template <class T>
struct Memory {
  const T* packed = nullptr;
  const T* bias = nullptr;  ///< of all groups, each padded to whole panels
};

template <class T>
Memory<T> prepare_memory(const ConvSchedule<T>& plan, const Call& call) {
  T* scratch = reinterpret_cast<T*>(*call.scratch + plan.ranges.slots * plan.slot_bytes());
  const ConvGeometry& g = plan.geometry;
  Memory<T> memory;
  if (!plan.along_positions) {
    memory.packed = static_cast<const T*>(plan.packed.get());
    if (memory.packed == nullptr) {
      for (std::int64_t group = 0; group < g.group; ++group)
        pack_group(plan, call.in(1).data<const T>(), group, scratch);
      memory.packed = scratch;
      scratch += g.group * plan.packed_size;
    }
    if (call.has(2)) {
      const Operand& bias = call.in(2);
      const std::int64_t padded = plan.padded_filters();
      for (std::int64_t i = 0; i < g.group * padded; ++i) {
        const std::int64_t filter = i % padded;
        const bool real = filter < g.filters;
        scratch[i] =
            real ? bias.data<const T>()[(i / padded * g.filters + filter) * bias.strides[0]] : 0;
      }
      memory.bias = scratch;
    }
  }
  return memory;
}

// The windows of a range as a matrix: element (k, position) is data[k * step + position * column].
template <class T>
struct Windows {
  const T* data = nullptr;
  std::int64_t step = 0, column = 1;
};

template <class T>
Windows<T> windows_of(const ConvSchedule<T>& plan, const T* x, std::int64_t first,
                      std::int64_t count, T* unfolded) {
  if (!plan.unfolds) return {x + first * plan.x_position, plan.x_k, plan.x_position};
  unfold(plan.geometry, x, plan.x_channel, plan.x_axis, first, count, unfolded);
  return {unfolded, count, 1};
}

template <class T>
void add_bias(const Operand& bias, std::int64_t first_filter, std::int64_t filters, T* y,
              std::int64_t y_filter, std::int64_t count) {
  for (std::int64_t f = 0; f < filters; ++f) {
    const T value = bias.data<const T>()[(first_filter + f) * bias.strides[0]];
    T* row = y + f * y_filter;
    for (std::int64_t i = 0; i < count; ++i) row[i] += value;
  }
}

template <class T>
void run_task(const ConvSchedule<T>& plan, const Call& call, const Memory<T>& memory,
              std::int64_t task, T* unfolded, int max_threads) {
  const ConvGeometry& g = plan.geometry;
  const std::int64_t first = task % plan.ranges.count * plan.ranges.size;
  const std::int64_t count = std::min(plan.ranges.size, plan.positions - first);
  const std::int64_t group = task / plan.ranges.count % g.group,
                     image = task / plan.ranges.count / g.group;
  const T* x =
      call.in(0).data<const T>() + image * plan.x_image + group * g.channels * plan.x_channel;
  T* y = call.out(0).data<T>() + image * plan.y_image + group * g.filters * plan.y_filter + first;
  const Windows<T> windows = windows_of(plan, x, first, count, unfolded);
  Product<T> p;
  p.c = y;
  p.stop = call.stop;
  if (plan.along_positions) {
    p.m = g.filters;
    p.a = call.in(1).data<const T>() + group * g.filters * plan.w_filter;
    p.a_row = plan.w_filter;
    p.a_step = 1;
    p.b = {windows.data, plan.k, count, windows.step, 1};
    p.c_row = plan.y_filter;
    multiply(*plan.fns, p, max_threads);
    if (call.has(2)) add_bias(call.in(2), group * g.filters, g.filters, y, plan.y_filter, count);
    return;
  }
  p.m = count;
  p.a = windows.data;
  p.a_row = windows.column;
  p.a_step = windows.step;
  p.b = {nullptr, plan.k, g.filters, 0, 1};
  p.packed = memory.packed + group * plan.packed_size;
  p.c_row = 1;
  p.c_column = plan.y_filter;
  p.bias = memory.bias == nullptr ? nullptr : memory.bias + group * plan.padded_filters();
  multiply(*plan.fns, p, max_threads);
}

/// The part of the result that a task computes.
template <class T>
ConvPartOfResult part_of(const ConvSchedule<T>& plan, std::int64_t task) {
  const ConvGeometry& g = plan.geometry;
  const std::int64_t first = task % plan.ranges.count * plan.ranges.size;
  return {.image = task / plan.ranges.count / g.group,
          .filter = task / plan.ranges.count % g.group * g.filters,
          .filters = g.filters,
          .first = first,
          .count = std::min(plan.ranges.size, plan.positions - first)};
}

/// A single task, whose product and epilogue are shared by threads.
template <class T>
void run_shared_task(const ConvSchedule<T>& plan, const Call& call, const Memory<T>& memory,
                     const ConvEpilogue::Run& epilogue) {
  run_task(plan, call, memory, 0, reinterpret_cast<T*>(*call.scratch), call.max_threads);
  if (!plan.epilogue.present() || call.stop_requested()) return;
  const ConvPartOfResult whole = part_of(plan, 0);
  const std::int64_t slots = std::min(plan.ranges.slots, whole.filters);
  parallel_for(slots, call.max_threads, [&](std::int64_t slot) {
    ConvPartOfResult part = whole;
    part.filter += slot * whole.filters / slots;
    part.filters = (slot + 1) * whole.filters / slots - slot * whole.filters / slots;
    epilogue(part, *call.scratch + slot * plan.slot_bytes() + plan.unfolded_bytes());
  });
}

template <class T>
Status run(const Call& call) noexcept {
  const ConvSchedule<T>& plan = *static_cast<const ConvSchedule<T>*>(call.prepared);
  const std::int64_t tasks = plan.positions == 0 ? 0 : plan.tasks();
  if (tasks == 0) return Status::ok;
  const Memory<T> memory = prepare_memory(plan, call);
  const ConvEpilogue::Run epilogue(plan.epilogue, call);
  const std::int64_t work =
      plan.k * plan.positions * plan.geometry.filters * plan.geometry.group * plan.geometry.batch;
  const bool threads = call.max_threads > 1 && work > kMinThreadWork;
  if (threads && tasks == 1) {
    run_shared_task(plan, call, memory, epilogue);
    return call.ok_or_stopped();
  }
  const std::int64_t slots = threads ? plan.ranges.slots : 1;
  const auto work_of = [&](std::int64_t slot) {
    std::byte* const scratch = *call.scratch + slot * plan.slot_bytes();
    for (std::int64_t task = slot; task < tasks; task += slots) {
      run_task(plan, call, memory, task, reinterpret_cast<T*>(scratch), 1);
      epilogue(part_of(plan, task), scratch + plan.unfolded_bytes());
    }
  };
  if (threads)
    parallel_for(slots, call.max_threads, work_of);
  else
    work_of(0);
  return call.ok_or_stopped();
}

// Whether x already is the matrix of its windows, under suitable strides.
template <class T>
bool read_in_place(const Operand& x, ConvSchedule<T>& plan) {
  const ConvGeometry& g = plan.geometry;
  bool pads = false, strides = false;
  for (int axis = 0; axis < g.spatial; ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    pads |= g.pad[i] != 0 ||
            (g.out[i] - 1) * g.stride[i] + (g.kernel[i] - 1) * g.dilation[i] >= g.in[i];
    strides |= g.stride[i] != 1;
  }
  if (pads) return false;
  const std::int64_t step = x.strides[x.rank - 1];
  if (g.spatial == 1 && (g.channels == 1 || g.kernel[0] == 1)) {
    plan.x_position = g.stride[0] * step;
    plan.x_k = g.channels == 1 ? g.dilation[0] * step : plan.x_channel;
    return !plan.along_positions || plan.x_position == 1;
  }
  if (g.kernel_positions() != 1 || strides || !spatial_is_contiguous(x)) return false;
  plan.x_position = 1;
  plan.x_k = plan.x_channel;
  return true;
}

bool weights_are_rows(const Operand& w) {
  std::int64_t expected = 1;
  for (int axis = w.rank - 1; axis >= 1; --axis) {
    if (w.dims[axis] != 1 && w.strides[axis] != expected) return false;
    expected *= w.dims[axis];
  }
  return true;
}

std::int64_t whole_multiples(std::int64_t count, std::int64_t of) {
  return (count + of - 1) / of * of;
}

/// Whether vectors along constant filters, which are packed once, have fewer idle elements than
/// vectors along positions: the 49 of an image of 7 by 7 are no multiple of a vector, and lines of
/// padded planes have gaps between them.
template <class T>
bool fills_vectors_with_filters(const PrepareCtx& ctx, const ConvSchedule<T>& plan) {
  constexpr std::int64_t kMaxPositions = 512;
  // Unfolding an element takes as long as products with so many filters.
  constexpr double kFiltersPerUnfolding = 16;
  if (ctx.constants[1] == nullptr || ctx.packs == nullptr) return false;
  if (plan.positions == 0 || plan.positions > kMaxPositions) return false;
  const ConvGeometry& g = plan.geometry;
  const std::int64_t panel = plan.fns->panel;
  const auto last = static_cast<std::size_t>(g.spatial - 1);
  const auto filters = static_cast<double>(g.filters), all = static_cast<double>(plan.positions);
  double along_filters = static_cast<double>(whole_multiples(g.filters, panel)) / filters;
  std::int64_t along_positions = whole_multiples(plan.positions, panel);
  if (plan.unfolds) {
    along_filters += kFiltersPerUnfolding / filters;
    const std::int64_t gap = (g.kernel[last] - 1) * g.dilation[last] / g.stride[last];
    const std::int64_t lines = plan.positions / g.out[last];
    along_positions = whole_multiples(lines * (g.out[last] + gap) - gap, panel / 2);
  }
  return 1.05 * along_filters < static_cast<double>(along_positions) / all;
}

template <class T>
ConvSchedule<T> plan_of(const PrepareCtx& ctx, const ConvGeometry& geometry) {
  const Operand &x = ctx.inputs[0], &y = ctx.outputs[0];
  ConvSchedule<T> plan;
  plan.fns = &functions_for<T>(simd_tables(ctx.isa));
  plan.geometry = geometry;
  plan.k = geometry.channels * geometry.kernel_positions();
  plan.positions = geometry.out_positions();
  plan.x_image = x.strides[0];
  plan.x_channel = x.strides[1];
  std::copy_n(x.strides + 2, geometry.spatial, plan.x_axis);
  plan.w_filter = ctx.inputs[1].strides[0];
  plan.y_image = y.strides[0];
  plan.y_filter = y.strides[1];
  const std::int64_t lanes = plan.fns->panel / 2;
  plan.along_positions = plan.positions >= lanes || geometry.filters < lanes;
  plan.unfolds = !read_in_place(x, plan);
  if (fills_vectors_with_filters(ctx, plan)) plan.along_positions = false;
  plan.packed_size = packed_elements(*plan.fns, plan.k, geometry.filters);
  const std::int64_t column = plan.unfolds ? plan.k * static_cast<std::int64_t>(sizeof(T)) : 0;
  plan.ranges = unfolded_ranges(plan.positions, column, geometry.batch * geometry.group);
  if (!plan.along_positions && plan.ranges.count > 1) {
    plan.ranges.size = (plan.positions + plan.ranges.count - 1) / plan.ranges.count;
    plan.ranges.count = (plan.positions + plan.ranges.size - 1) / plan.ranges.size;
  }
  return plan;
}

template <class T>
std::shared_ptr<const void> pack_constant(const PrepareCtx& ctx, const ConvSchedule<T>& plan) {
  const auto make = [&]() -> std::shared_ptr<const void> {
    std::shared_ptr<T> memory = packed_memory<T>(plan.geometry.group * plan.packed_size);
    for (std::int64_t group = 0; group < plan.geometry.group; ++group)
      pack_group(plan, static_cast<const T*>(ctx.constants[1]), group, memory.get());
    return memory;
  };
  std::vector<std::int64_t> layout{static_cast<std::int64_t>(ctx.isa),
                                   std::int64_t{sizeof(T)},
                                   plan.geometry.group,
                                   plan.geometry.filters,
                                   plan.k,
                                   plan.w_filter};
  return ctx.packs->get({ctx.constants[1], static_cast<int>(KernelId::conv), std::move(layout)},
                        make);
}

/// The answer to weights at an unaligned address where the kernel would read them: it is asked
/// again.
Prepared asks_for_aligned() { return {}; }

template <class T>
Prepared prepare_typed(const PrepareCtx& ctx, const ConvGeometry& geometry) {
  const bool channels_last = tensor::is_channels_last(ctx.outputs[0]);
  if (!channels_last) {
    Prepared depthwise = prepare_conv_depthwise(ctx, geometry);
    if (!depthwise.refusal) return depthwise;
  }
  Prepared blocks = prepare_conv_planes(ctx, geometry, PlanesUse::blocks);
  if (!blocks.refusal || channels_last) return blocks;
  if (!is_aligned(static_cast<const T*>(ctx.constants[1]))) return asks_for_aligned();
  auto plan = std::make_shared<ConvSchedule<T>>(plan_of<T>(ctx, geometry));
  if (plan->along_positions) {
    Prepared planes =
        prepare_conv_planes(ctx, geometry, plan->unfolds ? PlanesUse::any : PlanesUse::panels);
    if (!planes.refusal) return planes;
  }
  if (auto why = plan->epilogue.prepare(ctx)) return Prepared::no(*std::move(why));
  std::int64_t elements = 0;
  if (!plan->along_positions) {
    elements += geometry.group * plan->padded_filters();
    if (ctx.constants[1] != nullptr && ctx.packs != nullptr)
      plan->packed = pack_constant(ctx, *plan);
    else
      elements += geometry.group * plan->packed_size;
  }
  const std::int64_t bytes =
      plan->ranges.slots * plan->slot_bytes() + elements * static_cast<std::int64_t>(sizeof(T));
  return {.state = std::move(plan), .scratch_bytes = bytes, .run = run<T>};
}

std::optional<Refusal> why_not(const PrepareCtx& ctx) {
  const DType dtype = ctx.outputs[0].dtype;
  if (dtype != DType::f32 && dtype != DType::f64) return "only f32 and f64";
  for (const Operand& input :
       ctx.inputs.first(std::min<std::size_t>(ctx.inputs.size(), kConvOperands)))
    if (input.present() && input.dtype != dtype) return "operands of different element types";
  if (!weights_are_rows(ctx.inputs[1])) return "weights that are not contiguous";
  const Operand& y = ctx.outputs[0];
  if (!spatial_is_contiguous(y) && !is_channels_last(y)) return "a result that is not contiguous";
  return std::nullopt;
}

Prepared prepare(const PrepareCtx& ctx) {
  if (auto why = why_not(ctx)) return Prepared::no(*std::move(why));
  const auto geometry =
      tensor::conv_geometry(ctx.inputs[0].shape(), ctx.inputs[1].shape(), ctx.attrs);
  if (!geometry) return Prepared::no("the operands do not fit the attributes");
  if (ctx.outputs[0].dtype == DType::f32 && tensor::sums_by_winograd(*geometry))
    return prepare_conv_winograd(ctx, *geometry);
  const PrepareConvFn typed =
      ctx.outputs[0].dtype == DType::f32 ? prepare_typed<float> : prepare_typed<double>;
  const tensor::LiveTaps taps = tensor::live_taps(*geometry);
  const bool trims = taps.count != geometry->kernel;
  const auto* const weights = static_cast<const std::byte*>(ctx.constants[1]);
  if (trims && reinterpret_cast<std::uintptr_t>(weights) % dtype_bytes(ctx.outputs[0].dtype) != 0)
    return asks_for_aligned();
  if (trims) return prepare_trimmed_conv(ctx, *geometry, taps, typed);
  return typed(ctx, *geometry);
}

bool packs_unaligned(const PrepareCtx& ctx) {
  const DType dtype = ctx.outputs[0].dtype;
  return ctx.constants[1] != nullptr && (dtype == DType::f32 || dtype == DType::f64);
}

}  // namespace conv
}  // namespace

extern constinit const KernelDef conv_kernel{
    .name = "conv",
    .doc =
        "Convolutions of f32 or f64 as products of weights and unfolded windows, summed in order.",
    .prepare = conv::prepare,
    .run = conv::run<float>,
    .packs_unaligned = conv::packs_unaligned,
};

}  // namespace scanloom::kernels
