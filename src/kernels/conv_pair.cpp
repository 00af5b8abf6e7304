// conv_pair: see conv_pair.h. Tasks are bands of rows of the second result. A slot has adjacent
// bands, and keeps the rows of the planes that the next one reads too.
#include "kernels/conv_pair.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "kernels/conv_planes_run.h"
#include "kernels/kernel.h"
#include "kernels/product.h"
#include "kernels/share_tasks.h"

namespace scanloom::kernels {
namespace {
namespace conv_pair {

using tensor::Call;
using tensor::ConvGeometry;
using tensor::Operand;
using tensor::Status;

template <class T>
struct PairSchedule {
  PlanesSchedule<T> first;   ///< of a single row of one image
  PlanesSchedule<T> second;  ///< whose planes are filled by the first
  std::size_t second_input = 0;
  std::int64_t x_image = 0, x_row = 0;

  [[nodiscard]] std::int64_t panel_bytes() const {
    return std::max(first.panel_bytes(), second.panel_bytes());
  }
  [[nodiscard]] std::int64_t slot_bytes() const {
    return second.plane_bytes() + panel_bytes() + second.epilogue.scratch_bytes();
  }
};

/// The calls of both convolutions.
struct PairCalls {
  PairCalls(const Call& call, std::size_t second_input) : first(call), second(call) {
    first.input_count = static_cast<std::uint16_t>(second_input);
    second.inputs += second_input;
    second.input_count = static_cast<std::uint16_t>(call.input_count - second_input);
  }

  Call first, second;
};

/// Computes row `row` of the first result of an image, as far as the planes have columns of it.
template <class T>
void compute_row(const PairSchedule<T>& plan, const Call& call, std::int64_t image,
                 std::int64_t row, T* to, T* memory) {
  const ChannelsLastPlanes& planes = plan.second.last_planes;
  const ConvGeometry& g = plan.second.geometry;
  const std::int64_t position = planes.pitch[1], before = g.pad[1];
  const PlanesTask task{.groups = 1,
                        .size = std::min(g.in[1], planes.size[1] - before),
                        .filters = plan.first.geometry.filters};
  std::fill_n(to, before * position, T{0});
  std::fill_n(to + (before + task.size) * position,
              (planes.size[1] - before - task.size) * position, T{0});
  ConvBand<T> s = band_of(plan.first, call, task);
  s.planes = call.in(0).data<const T>() + image * plan.x_image + row * plan.x_row;
  s.y = to + before * position;
  multiply_block_task(plan.first, s, task, plan.first.epilogue.template finish<T>(call, 0, 0),
                      nullptr, memory, [](const FilterBlock&, std::int64_t, std::int64_t) {});
}

/// Fills the planes of a band. `kept`: those of the band before it are there.
template <class T>
void fill_band(const PairSchedule<T>& plan, const Call& call, const PlanesTask& task, bool kept,
               T* planes, T* memory) {
  const ChannelsLastPlanes& to = plan.second.last_planes;
  const ConvGeometry& g = plan.second.geometry;
  const std::int64_t row_elements = to.pitch[0], moved = plan.second.band_size * to.step[0];
  std::int64_t row = 0;
  if (kept && moved < to.size[0]) {
    row = to.size[0] - moved;
    std::memmove(planes, planes + moved * row_elements,
                 static_cast<std::size_t>(row * row_elements) * sizeof(T));
  }
  const std::int64_t rows = to.size[0] - (plan.second.band_size - task.size) * to.step[0];
  for (; row < rows; ++row) {
    const std::int64_t from = task.first * g.stride[0] - g.pad[0] + row;
    if (from >= 0 && from < g.in[0])
      compute_row(plan, call, task.image, from, planes + row * row_elements, memory);
    else
      std::fill_n(planes + row * row_elements, row_elements, T{0});
  }
}

template <class T>
Status run(const Call& call) noexcept {
  const PairSchedule<T>& plan = *static_cast<const PairSchedule<T>*>(call.prepared);
  const PlanesSchedule<T>& second = plan.second;
  const PairCalls calls(call, plan.second_input);
  const ConvEpilogue::Run epilogue(second.epilogue, calls.second);
  const ConvGeometry& g = second.geometry;
  const std::int64_t of_row = second.positions / g.out[0];
  const double products = static_cast<double>(second.band_size * g.stride[0] * g.in[1]) *
                          static_cast<double>(plan.first.k * g.filters);
  // Where a slot begins, it computes rows that the one before has computed too.
  const std::int64_t slots = std::min<std::int64_t>(second.slots, call.max_threads);
  std::array<std::int64_t, kPlaneTasks> filled;  // the last band of each slot
  filled.fill(-1);
  return share_tasks(
      call, second.tasks(), slots, products, [&](std::int64_t number, std::int64_t slot) {
        std::byte* const memory = *call.scratch + slot * plan.slot_bytes();
        T* const planes = reinterpret_cast<T*>(memory);
        T* const panels = reinterpret_cast<T*>(memory + second.plane_bytes());
        const PlanesTask task = planes_task(second, number);
        std::int64_t& latest = filled[static_cast<std::size_t>(slot)];
        const bool kept = task.first > 0 && latest == number - 1;
        fill_band(plan, calls.first, task, kept, planes, panels);
        latest = number;
        ConvBand<T> s = band_of(second, calls.second, task);
        s.planes = planes;
        const ConvFinish<T> finish =
            second.epilogue.template finish<T>(calls.second, 0, s.y - call.out(0).data<T>());
        multiply_block_task(second, s, task, finish, nullptr, panels,
                            [&](const FilterBlock& part, std::int64_t first, std::int64_t count) {
                              epilogue({.image = task.image,
                                        .filter = part.first,
                                        .filters = part.filters,
                                        .first = task.first * of_row + first,
                                        .count = count},
                                       memory + second.plane_bytes() + plan.panel_bytes());
                            });
      });
}

/// Each row reads all weights of the first convolution, which a part of the L2 cache should hold.
constexpr std::int64_t kMaxWeightBytes = 256 * 1024;

/// A row of [batch, channels, rows, columns].
class RowOf {
 public:
  explicit RowOf(const Operand& whole) : operand(whole) {
    std::copy_n(whole.dims, kRank, dims_.begin());
    dims_[0] = dims_[2] = 1;
    operand.dims = dims_.data();
  }
  RowOf(const RowOf&) = delete;
  RowOf& operator=(const RowOf&) = delete;

  static constexpr int kRank = 4;
  Operand operand;

 private:
  std::array<std::int64_t, kRank> dims_;
};

/// Whether the convolution has windows of a single position each and reads every position.
bool is_pointwise(const ConvGeometry& g) {
  if (g.group != 1 || g.kernel_positions() != 1) return false;
  for (std::size_t axis = 0; axis < 2; ++axis)
    if (g.stride[axis] != 1 || g.pad[axis] != 0 || g.out[axis] != g.in[axis]) return false;
  return true;
}

/// `use`: blocks, or forecast, which packs no weights.
template <class T>
std::optional<Refusal> schedule(PairSchedule<T>& plan, const PrepareCtx& ctx,
                                const ConvGeometry& first, const ConvGeometry& second,
                                PlanesUse use) {
  const ConvPair& pair = *ctx.pair;
  const RowOf x(ctx.inputs[0]), y(pair.between);
  const auto split = static_cast<std::ptrdiff_t>(pair.second);
  std::vector<Operand> inputs(ctx.inputs.begin(), ctx.inputs.begin() + split);
  inputs[0] = x.operand;
  PrepareCtx asked = ctx;
  asked.inputs = inputs;
  asked.outputs = std::span(&y.operand, 1);
  asked.constants = ctx.constants.first(pair.second);
  ConvGeometry row = first;
  row.batch = row.in[0] = row.out[0] = 1;
  if (auto why = schedule_planes(plan.first, asked, row, use)) return why;
  // compute_row takes a row as a single axis.
  if (plan.first.geometry.spatial != 1) return "rows with gaps between them";
  if (!plan.first.in_place) return "rows that are not read in place";
  if (plan.first.k * plan.first.geometry.filters * std::int64_t{sizeof(T)} > kMaxWeightBytes)
    return "weights that every row would read from memory";
  if (plan.first.epilogue.present() || plan.first.epilogue.reads_residual())
    return "an epilogue between the convolutions that is not finished in registers";
  inputs.assign(ctx.inputs.begin() + split, ctx.inputs.end());
  inputs[0] = pair.between;
  asked.inputs = inputs;
  asked.outputs = ctx.outputs;
  asked.constants = ctx.constants.subspan(pair.second);
  asked.attrs = pair.attrs;
  asked.program = pair.program;
  if (auto why = schedule_planes(plan.second, asked, second, use)) return why;
  const PlanesSchedule<T>& s = plan.second;
  if (!s.single || s.in_place || s.geometry.spatial != 2 || s.parts != 1)
    return "a second convolution that has no padded planes of single channels";
  for (std::size_t axis = 0; axis < 2; ++axis)
    if (s.geometry.pad[axis] < 0 || s.last_planes.step[axis] != s.geometry.stride[axis])
      return "windows that leave out positions";
  if (s.slots == 1 && plan.first.k * s.geometry.filters * s.geometry.in[0] * s.geometry.in[1] >
                          kMinThreadWork * kPlaneTasks)
    return "a second convolution that threads do not share, unlike the first";
  plan.first.y_step = s.last_planes.pitch[1];
  plan.second_input = pair.second;
  plan.x_image = ctx.inputs[0].strides[0];
  plan.x_row = ctx.inputs[0].strides[2];
  return std::nullopt;
}

template <class T>
Prepared prepare_typed(const PrepareCtx& ctx, const ConvGeometry& first,
                       const ConvGeometry& second) {
  // Packing gives pages of the file back, so it must not be in vain.
  PairSchedule<T> forecast;
  if (auto why = schedule(forecast, ctx, first, second, PlanesUse::forecast))
    return Prepared::no(*std::move(why));
  auto plan = std::make_shared<PairSchedule<T>>();
  if (auto why = schedule(*plan, ctx, first, second, PlanesUse::blocks))
    return Prepared::no(*std::move(why));
  const std::int64_t bytes = plan->second.slots * plan->slot_bytes();
  const std::uint32_t packed = 1U << 1 | 1U << (ctx.pair->second + 1);
  return {.state = std::move(plan), .scratch_bytes = bytes, .run = run<T>, .packed = packed};
}

std::optional<Refusal> why_not(const PrepareCtx& ctx) {
  constexpr std::size_t kMaxSecond = 30;  // whose weights are the input after it: bits of `packed`
  const ConvPair& pair = *ctx.pair;
  const DType dtype = ctx.outputs[0].dtype;
  if (dtype != DType::f32 && dtype != DType::f64) return "only f32 and f64";
  if (ctx.inputs[0].rank != RowOf::kRank) return "other than two spatial axes";
  if (pair.second > kMaxSecond) return "many operands";
  const auto is_other = [&](std::size_t i) {
    return ctx.inputs[i].present() && ctx.inputs[i].dtype != dtype;
  };
  for (const std::size_t i :
       {std::size_t{0}, std::size_t{1}, std::size_t{2}, pair.second + 1, pair.second + 2})
    if (is_other(i)) return "operands of different element types";
  if (!ctx.inputs[1].contiguous || !ctx.inputs[pair.second + 1].contiguous)
    return "weights that are not contiguous";
  if (!is_channels_last(pair.between) || !is_channels_last(ctx.outputs[0]))
    return "channels that are not last";
  return std::nullopt;
}

Prepared prepare(const PrepareCtx& ctx) {
  if (ctx.pair == nullptr) return Prepared::no("not two convolutions");
  if (auto why = why_not(ctx)) return Prepared::no(*std::move(why));
  const ConvPair& pair = *ctx.pair;
  const auto first = tensor::conv_geometry(ctx.inputs[0].shape(), ctx.inputs[1].shape(), ctx.attrs);
  const auto second =
      tensor::conv_geometry(pair.between.shape(), ctx.inputs[pair.second + 1].shape(), pair.attrs);
  if (!first || !second) return Prepared::no("the operands do not fit the attributes");
  if (!is_pointwise(*first)) return Prepared::no("windows of several positions");
  if (tensor::live_taps(*second).count != second->kernel)
    return Prepared::no("taps that meet nothing but padding");
  return ctx.outputs[0].dtype == DType::f32 ? prepare_typed<float>(ctx, *first, *second)
                                            : prepare_typed<double>(ctx, *first, *second);
}

bool packs_unaligned(const PrepareCtx& ctx) {
  return ctx.pair != nullptr && ctx.constants[1] != nullptr &&
         ctx.constants[ctx.pair->second + 1] != nullptr;
}

}  // namespace conv_pair
}  // namespace

extern constinit const KernelDef conv_pair_kernel{
    .name = "conv_pair",
    .doc = "A convolution of windows of one position, and one of single channels that reads it.",
    .prepare = conv_pair::prepare,
    .run = conv_pair::run<float>,
    .packs_unaligned = conv_pair::packs_unaligned,
};

}  // namespace scanloom::kernels
