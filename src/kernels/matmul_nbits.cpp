// matmul_nbits: products with weights that stay quantized in blocks. Some columns are dequantized
// at a time, a stretch of rows that the L1 cache holds, and multiplied as contract does: sums run
// over k in order. Nothing is packed or copied, so the weights stay where they were read.
#include <algorithm>
#include <cstdint>
#include <memory>

#include "base/thread_pool.h"
#include "kernels/block_columns.h"
#include "kernels/kernel.h"
#include "kernels/product.h"
#include "kernels/simd.h"
#include "opmath/block_quantization.h"

namespace scanloom::kernels {
namespace {

using tensor::Call;
using tensor::Operand;
using tensor::Status;
using tensor::block_quantization::BlockFormat;
using tensor::block_quantization::kMinBlock;
using tensor::block_quantization::zero_at;

enum NbitsInput : int { kX, kWeights, kWeightScales, kWeightZeros };

/// Dequantized numbers that stay in the L1 cache. Rows past the last one may be written.
constexpr std::int64_t kStretch = 8192, kMaxPanel = 32, kMaxPanels = 4;
constexpr std::int64_t kStretchSlack = kBlockSlackRows * kMaxPanel * kMaxPanels;
/// Rows of one stretch. For few rows of x, several panels at once give more chains of sums.
constexpr std::int64_t kFewRowsDepth = 64, kManyRowsDepth = 256;
constexpr std::int64_t kCacheLine = 64;
constexpr std::int64_t kMaxStretchBlocks = kManyRowsDepth / kMinBlock;

struct NbitsSchedule {
  BlockFormat format;
  std::int64_t m = 0, n = 0, x_row = 0, y_row = 0;
  std::int64_t width = 0, depth = 0;  ///< columns and rows of a stretch
  const ProductFns<float>* fns = nullptr;
  void (*dequantize)(const BlockColumns&) = nullptr;
};

/// Where the operands are.
struct NbitsOperands {
  const float* x;
  const std::uint8_t* weights;
  const float* scales;
  const Operand* zeros;
  float* y;
};

/// Dequantizes the rows [k, k + rows) of some columns, which begin with a panel. The columns after
/// the last one of the matrix repeat it.
void fill_stretch(const NbitsSchedule& plan, const NbitsOperands& at, std::int64_t column,
                  std::int64_t columns, std::int64_t k, std::int64_t rows, float* to) {
  const BlockFormat& format = plan.format;
  const std::int64_t panel = plan.fns->panel, blocks = format.blocks(), bytes = format.bytes();
  const std::int64_t first = k / format.block, last = (k + rows - 1) / format.block;
  float scales[kMaxStretchBlocks * kBlockColumns], zeros[kMaxStretchBlocks * kBlockColumns];
  BlockColumns c{.bytes = bytes - k * format.bits / 8,
                 .rows = rows,
                 .block = format.block,
                 .scales = scales,
                 .zeros = zeros,
                 .step = panel};
  const float middle = format.middle();
  const std::int64_t ahead = plan.depth * format.bits / 8;  // bytes of the next stretch
  const std::int64_t all = (columns + panel - 1) / panel * panel;
  for (std::int64_t j = 0; j < all; j += kBlockColumns) {
    for (int i = 0; i < kBlockColumns; ++i) {
      const std::int64_t own = std::min(column + j + i, plan.n - 1);
      c.columns[i] = at.weights + own * bytes + k * format.bits / 8;
      // The processor follows too few of that many columns by itself.
      for (std::int64_t line = 0; line < ahead; line += kCacheLine)
        __builtin_prefetch(c.columns[i] + ahead + line);
      for (std::int64_t b = first; b <= last; ++b) {
        const std::int64_t from = own * blocks + b, there = (b - first) * kBlockColumns + i;
        scales[there] = at.scales[from];
        zeros[there] = at.zeros == nullptr ? middle : zero_at(*at.zeros, from);
      }
    }
    c.to = to + j / panel * panel * plan.depth + j % panel;
    plan.dequantize(c);
  }
}

/// The rows of the stretch that begins with row k: whole blocks, or part of one.
std::int64_t rows_of_stretch(const NbitsSchedule& plan, std::int64_t k) {
  const std::int64_t block = plan.format.block, left = plan.format.size - k;
  const std::int64_t rows =
      block < plan.depth ? plan.depth / block * block : std::min(plan.depth, block - k % block);
  return std::min(rows, left);
}

void multiply_columns(const NbitsSchedule& plan, const NbitsOperands& at, std::int64_t column,
                      std::int64_t columns) {
  const ProductFns<float>& fns = *plan.fns;
  alignas(64) float stretch[kStretch + kStretchSlack];
  Strip<float> s;
  s.columns = columns;
  s.a_row = plan.x_row;
  s.a_step = 1;
  s.b = stretch;
  s.b_step = fns.panel;
  s.b_panel = fns.panel * plan.depth;
  s.padded = true;
  s.c_row = plan.y_row;
  for (std::int64_t k = 0; k < plan.format.size; k += s.k) {
    s.k = rows_of_stretch(plan, k);
    fill_stretch(plan, at, column, columns, k, s.k, stretch);
    s.resume = k > 0;
    for (std::int64_t row = 0; row < plan.m; row += fns.rows) {
      s.a = at.x + row * plan.x_row + k;
      s.c = at.y + row * plan.y_row + column;
      fns.strip[std::min<std::int64_t>(fns.rows, plan.m - row) - 1](s);
    }
  }
}

Status run_nbits(const Call& call) noexcept {
  const auto& plan = *static_cast<const NbitsSchedule*>(call.prepared);
  const NbitsOperands at{
      call.in(kX).data<const float>(), call.in(kWeights).data<const std::uint8_t>(),
      call.in(kWeightScales).data<const float>(),
      call.has(kWeightZeros) ? &call.in(kWeightZeros) : nullptr, call.out(0).data<float>()};
  const std::int64_t tasks = (plan.n + plan.width - 1) / plan.width;
  const auto work = [&](std::int64_t task) {
    if (call.stop != nullptr && call.stop->stop_requested()) return;
    const std::int64_t column = task * plan.width;
    multiply_columns(plan, at, column, std::min(plan.width, plan.n - column));
  };
  const bool threads =
      call.max_threads > 1 && plan.m * plan.n * plan.format.size > kMinThreadWorkOfRow;
  if (threads)
    parallel_for(tasks, call.max_threads, work);
  else
    for (std::int64_t task = 0; task < tasks; ++task) work(task);
  return call.ok_or_stopped();
}

Prepared prepare_nbits(const PrepareCtx& ctx) {
  const Operand &x = ctx.inputs[kX], &y = ctx.outputs[0];
  for (const Operand& operand : ctx.inputs)
    if (operand.present() && !operand.contiguous) return Prepared::no("operands with gaps");
  if (!y.contiguous) return Prepared::no("a result with gaps");
  if (y.empty() || x.empty()) return Prepared::no("no elements to compute");
  auto plan = std::make_shared<NbitsSchedule>();
  plan->format = BlockFormat::of(ctx.attrs);
  plan->fns = &simd_tables(ctx.isa).f32;
  plan->dequantize = block_fns(ctx.isa).columns[block_fn(plan->format.bits)];
  plan->n = y.dims[y.rank - 1];
  plan->m = y.elements() / plan->n;
  plan->x_row = plan->format.size;
  plan->y_row = plan->n;
  const bool few = plan->m <= plan->fns->rows;
  plan->width = few ? kMaxPanels * plan->fns->panel : plan->fns->panel;
  plan->depth = few ? kFewRowsDepth : kManyRowsDepth;
  return {.state = std::move(plan)};
}

}  // namespace

extern constinit const KernelDef matmul_nbits_kernel{
    .name = "matmul_nbits",
    .doc =
        "Products with weights that are dequantized in stretches of columns, as they are needed.",
    .prepare = prepare_nbits,
    .run = run_nbits,
};

}  // namespace scanloom::kernels
