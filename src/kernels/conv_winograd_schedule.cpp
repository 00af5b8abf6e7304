#include "kernels/conv_winograd_schedule.h"
#include "kernels/any_address.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/mapped_file.h"
#include "base/thread_pool.h"
#include "kernels/pack_cache.h"
#include "kernels/product.h"
#include "kernels/simd.h"

namespace scanloom::kernels {
namespace {

using tensor::ConvGeometry;
using tensor::kWinogradParts;
using tensor::Operand;

/// The number of equal pieces, each of at most so many, rounded up.
std::int64_t evenly(std::int64_t all, std::int64_t most) {
  return WinogradSchedule::count_of(all, WinogradSchedule::count_of(all, most));
}

/// Returns a multiple.
std::int64_t rounded_up(std::int64_t count, std::int64_t of) { return (count + of - 1) / of * of; }

/// Chooses the tiles of a strip: enough that transformed weights are read from the L3 cache or from
/// memory for many products each, and few enough that patches of few channels stay in the L2 cache.
void choose_strips(WinogradSchedule& plan, bool shares) {
  constexpr std::int64_t kMinTiles = 32, kMaxTiles = 64;
  constexpr std::int64_t kMaxInput =
      2 * 1024 * 1024 / WinogradSchedule::kFloatBytes;  ///< elements of all parts
  const ConvGeometry& g = plan.geometry;
  plan.rows = tensor::winograd_tiles(g.out[0], g.dilation[0]);
  plan.columns = tensor::winograd_tiles(g.out[1], g.dilation[1]);
  std::int64_t most = kMaxTiles;
  if (shares)
    most = std::clamp(g.batch * plan.rows * plan.columns / kWinogradTasks, kMinTiles, kMaxTiles);
  most = std::clamp<std::int64_t>(kMaxInput / (kWinogradParts * g.channels), 4, most);
  plan.strip_rows = std::min(g.dilation[0], plan.rows);
  plan.strip_columns = plan.columns;
  if (plan.columns > std::max<std::int64_t>(most / plan.strip_rows, 1)) {
    const std::int64_t columns =
        evenly(plan.columns, std::max<std::int64_t>(most / plan.strip_rows, 1));
    plan.strip_columns = std::min(rounded_up(columns, g.dilation[1]), plan.columns);
  } else if (plan.rows * plan.columns > most) {
    const std::int64_t rows = evenly(plan.rows, most / plan.columns);
    plan.strip_rows = std::min(rounded_up(rows, g.dilation[0]), plan.rows);
  } else {
    plan.strip_rows = plan.rows;
    plan.strip_images = evenly(g.batch, most / (plan.rows * plan.columns));
  }
}

/// Splits the filters where strips are few.
void choose_parts(WinogradSchedule& plan) {
  const std::int64_t filters = plan.geometry.filters;
  const std::int64_t width = plan.block_vectors * plan.blocks->lanes;
  // Where the channels come last, an epilogue takes the filters of a position at a time.
  constexpr std::int64_t kMinFiltersLast = 128;
  const bool few_at_once = plan.last && plan.epilogue.present();
  const std::int64_t all = std::max<std::int64_t>(filters / width, 1);
  const std::int64_t most =
      few_at_once ? std::max<std::int64_t>(filters / kMinFiltersLast, 1) : all;
  const std::int64_t parts =
      std::min(most, WinogradSchedule::count_of(kWinogradTasks, plan.strips()));
  plan.filters = WinogradSchedule::count_of(all, parts) * width;
  plan.parts = std::max<std::int64_t>(filters / plan.filters, 1);
  if (plan.parts == 1) plan.filters = filters;
}

void choose_tasks(WinogradSchedule& plan) {
  // Filters whose sums a group has: all of its parts are in the L2 cache. The patches of many
  // channels are not, so they are read for more filters at a time.
  constexpr std::int64_t kFewChannels = 128, kFilters = 24;
  const ConvGeometry& g = plan.geometry;
  const bool shares = 9 * g.channels * g.filters * g.out_positions() * g.batch > kMinThreadWork;
  choose_strips(plan, shares);
  plan.filters = g.filters;
  if (shares) choose_parts(plan);
  plan.slots = shares ? std::min(plan.strips() * plan.parts, kWinogradTasks) : 1;
  const std::int64_t wanted = g.channels < kFewChannels ? kFilters : 2 * kFilters;
  plan.group = std::max(wanted / plan.blocks->lanes, plan.blocks->vectors);
}

/// Transforms the weights of a block of filters: part by part, and of each part by channel.
void pack_block(const WinogradSchedule& plan, const float* weights, const FilterBlock& block,
                float* to) {
  const std::int64_t channels = plan.geometry.channels;
  const std::int64_t width = block.vectors * plan.blocks->lanes;
  to += block.first * kWinogradParts * channels;
  if (block.filters < width) std::fill_n(to, kWinogradParts * channels * width, 0.0F);
  const std::int64_t step = channels * width;
  std::vector<float> memory;
  weights = aligned_elements(weights + block.first * plan.w_filter,
                             (block.filters - 1) * plan.w_filter + 9 * channels, memory);
  for (std::int64_t c = 0; c < channels; ++c, weights += 9, to += width) {
    std::int64_t f = 0;
    for (; f + tensor::kWinogradFilters <= block.filters; f += tensor::kWinogradFilters)
      tensor::winograd_weights(weights + f * plan.w_filter, plan.w_filter, to + f, step);
    for (; f < block.filters; ++f) {
      const tensor::WinogradPatch u = tensor::winograd_weights(weights + f * plan.w_filter);
      for (std::int64_t part = 0; part < kWinogradParts; ++part)
        to[part * step + f] = u[static_cast<std::size_t>(part)];
    }
  }
}

/// The transformed weights that all bindings of a plan share.
std::shared_ptr<const void> packed_once(const WinogradSchedule& plan, const PrepareCtx& ctx) {
  const ConvGeometry& g = plan.geometry;
  const auto* const weights = static_cast<const float*>(ctx.constants[1]);
  const auto make = [&]() -> std::shared_ptr<const void> {
    std::shared_ptr<float> memory = packed_memory<float>(plan.packed_elements());
    pack_winograd(plan, weights, memory.get(), 1);
    // From now on the weights are read only for sums that are not finite.
    release_file_pages(weights, static_cast<std::size_t>(ctx.inputs[1].elements()) * sizeof(float));
    return memory;
  };
  // -3: not one of the forms of the other ways.
  std::vector<std::int64_t> layout{-3,        plan.blocks->lanes, plan.block_vectors,
                                   g.filters, g.channels,         plan.w_filter};
  return ctx.packs->get({ctx.constants[1], static_cast<int>(KernelId::conv), std::move(layout)},
                        make);
}

}  // namespace

void pack_winograd(const WinogradSchedule& plan, const float* weights, float* to, int threads) {
  parallel_for(threads, threads, [&](std::int64_t thread) {
    std::int64_t number = 0;
    for_each_filter_block(*plan.blocks, plan.block_vectors, plan.geometry.filters, LastBlock::idles,
                          [&](const FilterBlock& block) {
                            if (number++ % threads == thread) pack_block(plan, weights, block, to);
                          });
  });
}

std::optional<Refusal> schedule_winograd(WinogradSchedule& plan, const PrepareCtx& ctx,
                                         const ConvGeometry& geometry) {
  const Operand &x = ctx.inputs[0], &y = ctx.outputs[0];
  plan.fns = &winograd_fns(ctx.isa);
  plan.blocks = &conv_block_fns<float>(ctx.isa);
  plan.block_vectors = plan.blocks->wide;
  plan.transpose = simd_tables(ctx.isa).transpose(sizeof(float));
  plan.geometry = geometry;
  plan.x_image = x.strides[0];
  plan.x_channel = x.strides[1];
  plan.x_row = x.strides[2];
  plan.x_column = x.strides[3];
  plan.reads_last = plan.x_channel == 1;
  plan.w_filter = ctx.inputs[1].strides[0];
  plan.y_image = y.strides[0];
  plan.y_filter = y.strides[1];
  plan.last = tensor::is_channels_last(y);
  if (plan.last && geometry.filters % plan.blocks->lanes != 0)
    return "channels last that do not fill vectors";
  if (auto why = plan.epilogue.prepare(ctx, true)) return why;
  choose_tasks(plan);
  plan.channels.resize(static_cast<std::size_t>(geometry.channels));
  std::iota(plan.channels.begin(), plan.channels.end(), 0);
  if (ctx.constants[1] != nullptr && ctx.packs != nullptr) plan.packed = packed_once(plan, ctx);
  return std::nullopt;
}

}  // namespace scanloom::kernels
