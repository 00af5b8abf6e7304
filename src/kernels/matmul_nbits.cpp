// matmul_nbits: products with weights that stay quantized in blocks. For a few rows, columns are
// dequantized in registers. Otherwise some are dequantized at a time, a stretch of rows that the L1
// cache holds, and multiplied as contract does. Sums run over k in order. The weights stay where
// they were read, but bytes with one scale per column are also packed for few rows of x: with the
// columns of a row adjacent, dequantizing takes half the time.
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
using tensor::block_quantization::zero_at;

enum NbitsInput : int { kX, kWeights, kWeightScales, kWeightZeros };

/// Dequantized numbers that stay in the L1 cache.
constexpr std::int64_t kStretch = 8192;
/// Rows of one stretch. For few rows of x, several panels at once give more chains of sums.
constexpr std::int64_t kFewRowsDepth = 64, kManyRowsDepth = 256;
static_assert(kFewRowsDepth % kBlockRows == 0 && kManyRowsDepth % kBlockRows == 0);
constexpr std::int64_t kMaxStretchBlocks = kManyRowsDepth / tensor::block_quantization::kMinBlock;

struct NbitsSchedule {
  BlockFormat format;
  std::int64_t m = 0, n = 0, x_row = 0, y_row = 0;
  std::int64_t width = 0, depth = 0;  ///< columns and rows of a stretch
  const ProductFns<float>* fns = nullptr;
  int group = 0;  ///< columns that are dequantized together
  void (*dequantize)(const BlockColumns&) = nullptr;
  void (*multiply)(const BlockProduct&) = nullptr;   ///< of all rows; null: by stretches
  void (*panel)(const BytePanelProduct&) = nullptr;  ///< of all rows; null: nothing is packed
  std::shared_ptr<const std::int8_t> panels;         ///< of kBlockFewColumns columns
};

/// Where the operands are.
struct NbitsOperands {
  const float* x;
  const std::uint8_t* weights;
  const float* scales;
  const Operand* zeros;
  float* y;
};

/// The rows of the stretch that begins with row k: whole blocks, or part of one.
std::int64_t rows_of_stretch(const NbitsSchedule& plan, std::int64_t k) {
  const std::int64_t block = plan.format.block, left = plan.format.size - k;
  const std::int64_t rows =
      block < plan.depth ? plan.depth / block * block : std::min(plan.depth, block - k % block);
  return std::min(rows, left);
}

/// Multiplies some columns, which begin with a panel.
class ColumnsRun {
 public:
  ColumnsRun(const NbitsSchedule& plan, const NbitsOperands& at, std::int64_t column,
             std::int64_t columns)
      : plan_(plan), at_(at), column_(column), columns_(columns) {}

  void run() {
    for (std::int64_t k = 0, rows = 0; k < plan_.format.size; k += rows) {
      rows = rows_of_stretch(plan_, k);
      find_columns(k, rows);
      if (can_multiply_in_registers(rows))
        plan_.multiply({.groups = groups_,
                        .x = at_.x + k,
                        .x_row = plan_.x_row,
                        .y = at_.y + column_,
                        .y_row = plan_.y_row,
                        .resume = k > 0});
      else
        multiply_stretch(k, rows);
    }
  }

 private:
  [[nodiscard]] bool can_multiply_in_registers(std::int64_t rows) const {
    const std::int64_t tile = kBlockBytes * 8 / plan_.format.bits;
    return plan_.multiply != nullptr && columns_ == kBlockFewColumns && rows % tile == 0 &&
           plan_.format.block % tile == 0;
  }

  void multiply_stretch(std::int64_t k, std::int64_t rows) {
    const ProductFns<float>& fns = *plan_.fns;
    for (std::int64_t j = 0; j < padded_columns(); j += plan_.group) {
      BlockColumns& c = groups_[j / plan_.group];
      c.to = stretch_ + j / fns.panel * fns.panel * plan_.depth + j % fns.panel;
      plan_.dequantize(c);
    }
    Strip<float> s;
    s.columns = columns_;
    s.a_row = plan_.x_row;
    s.a_step = 1;
    s.b = stretch_;
    s.b_step = fns.panel;
    s.b_panel = fns.panel * plan_.depth;
    s.padded = true;
    s.c_row = plan_.y_row;
    s.k = rows;
    s.resume = k > 0;
    s.a = at_.x + k;
    s.c = at_.y + column_;
    multiply_strips(fns, s, plan_.m);
  }

  [[nodiscard]] std::int64_t padded_columns() const {
    const std::int64_t panel = plan_.fns->panel;
    return (columns_ + panel - 1) / panel * panel;
  }
  /// The columns after the last one of the matrix repeat it.
  [[nodiscard]] std::int64_t own(std::int64_t j) const {
    return std::min(column_ + j, plan_.n - 1);
  }

  /// Copies the scales and zero points of the blocks [first, last] of a group of columns.
  void gather_scales(std::int64_t j, std::int64_t first, std::int64_t last) {
    const std::int64_t blocks = plan_.format.blocks();
    const float middle = plan_.format.middle();
    float *scale = scales_ + j * kMaxStretchBlocks, *zero = zeros_ + j * kMaxStretchBlocks;
    for (std::int64_t b = first; b <= last; ++b)
      for (std::int64_t i = 0; i < plan_.group; ++i) {
        const std::int64_t from = own(j + i) * blocks + b;
        *scale++ = at_.scales[from];
        *zero++ = at_.zeros == nullptr ? middle : zero_at(*at_.zeros, from);
      }
  }

  /// Points to the rows [k, k + rows) of all groups.
  void find_columns(std::int64_t k, std::int64_t rows) {
    const BlockFormat& format = plan_.format;
    const std::int64_t bytes = format.bytes(), done = k * format.bits / 8;
    const std::int64_t first = k / format.block, last = (k + rows - 1) / format.block;
    const std::int64_t ahead = plan_.depth * format.bits / 8;  // bytes of the next stretch
    for (std::int64_t j = 0; j < padded_columns(); j += plan_.group) {
      BlockColumns& c = groups_[j / plan_.group];
      c.bytes = bytes - done;
      c.rows = rows;
      c.block = format.block;
      c.step = plan_.fns->panel;
      for (int i = 0; i < plan_.group; ++i) {
        c.columns[i] = at_.weights + own(j + i) * bytes + done;
        // The processor follows too few of that many columns by itself.
        for (std::int64_t line = 0; line < ahead; line += kCacheLine)
          __builtin_prefetch(c.columns[i] + ahead + line);
      }
      if (k == 0 || format.blocks() > 1) gather_scales(j, first, last);
      c.scales = scales_ + j * kMaxStretchBlocks;
      c.zeros = zeros_ + j * kMaxStretchBlocks;
    }
  }

  const NbitsSchedule& plan_;
  const NbitsOperands& at_;
  const std::int64_t column_, columns_;
  alignas(64) float stretch_[kStretch];
  BlockColumns groups_[kBlockFewColumns / kMinBlockColumns];
  /// Group by group, each with the blocks of a stretch.
  float scales_[kMaxStretchBlocks * kBlockFewColumns], zeros_[kMaxStretchBlocks * kBlockFewColumns];
};

/// What is subtracted from unsigned bytes, which packed ones are then signed.
constexpr std::uint8_t kByteMiddle = 128;
/// Rows of a panel that stay in the L1 cache.
constexpr std::int64_t kPanelDepth = 256;

void run_panel(const NbitsSchedule& plan, const NbitsOperands& at, std::int64_t panel) {
  constexpr std::int64_t kColumns = kBlockFewColumns;
  alignas(64) float scales[kColumns] = {}, zeros[kColumns] = {};
  alignas(64) float last[kMaxBlockProductRows * kColumns];
  const std::int64_t column = panel * kColumns, columns = std::min(kColumns, plan.n - column);
  bool has_zeros = false;
  for (std::int64_t j = 0; j < columns; ++j) {
    scales[j] = at.scales[column + j];
    zeros[j] = at.zeros == nullptr ? 0 : zero_at(*at.zeros, column + j) - kByteMiddle;
    has_zeros |= zeros[j] != 0;
  }
  const bool is_whole = columns == kColumns;
  BytePanelProduct p{.scales = scales,
                     .zeros = has_zeros ? zeros : nullptr,
                     .x_row = plan.x_row,
                     .y = is_whole ? at.y + column : last,
                     .y_row = is_whole ? plan.y_row : kColumns};
  for (std::int64_t k = 0; k < plan.format.size; k += kPanelDepth) {
    p.bytes = plan.panels.get() + (panel * plan.format.size + k) * kColumns;
    p.rows = std::min(kPanelDepth, plan.format.size - k);
    p.x = at.x + k;
    p.resume = k > 0;
    plan.panel(p);
  }
  for (std::int64_t row = 0; !is_whole && row < plan.m; ++row)
    std::copy_n(last + row * kColumns, columns, at.y + row * plan.y_row + column);
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
    if (plan.panel != nullptr) return run_panel(plan, at, task);
    const std::int64_t column = task * plan.width;
    ColumnsRun(plan, at, column, std::min(plan.width, plan.n - column)).run();
  };
  const bool threads =
      call.max_threads > 1 && plan.m * plan.n * plan.format.size > kMinThreadWorkOfRow;
  if (threads)
    parallel_for(tasks, call.max_threads, work);
  else
    for (std::int64_t task = 0; task < tasks; ++task) work(task);
  return call.ok_or_stopped();
}

std::shared_ptr<std::int8_t> pack_panels(const NbitsSchedule& plan, const std::uint8_t* weights,
                                         Isa isa) {
  constexpr std::int64_t kColumns = kBlockFewColumns;
  const std::int64_t rows = plan.format.size, panels = (plan.n + kColumns - 1) / kColumns;
  const std::int64_t count = panels * rows * kColumns;
  auto packed = packed_memory<std::int8_t>(count);
  auto* const to = reinterpret_cast<std::uint8_t*>(packed.get());
  const TransposeFn transpose = simd_tables(isa).transpose(1);
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    const std::int64_t column = panel * kColumns;
    transpose({.from = reinterpret_cast<const std::byte*>(weights + column * plan.format.bytes()),
               .to = reinterpret_cast<std::byte*>(to + panel * rows * kColumns),
               .rows = std::min(kColumns, plan.n - column),
               .columns = rows,
               .from_step = plan.format.bytes(),
               .to_step = kColumns});
  }
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<std::uint8_t>(to[i] ^ kByteMiddle);
  return packed;
}

/// Packs constant bytes with one scale per column, if few rows are multiplied by them.
void take_panels(const PrepareCtx& ctx, NbitsSchedule& plan) {
  const auto* const weights = static_cast<const std::uint8_t*>(ctx.constants[kWeights]);
  const bool has_zeros = ctx.inputs.size() > kWeightZeros && ctx.inputs[kWeightZeros].present();
  if (plan.format.bits != 8 || plan.format.blocks() != 1 || plan.m > kMaxBlockProductRows ||
      weights == nullptr || ctx.packs == nullptr ||
      (has_zeros && ctx.inputs[kWeightZeros].dtype != DType::u8))
    return;
  plan.panel = block_fns(ctx.isa).panel[static_cast<std::size_t>(plan.m - 1)];
  if (plan.panel == nullptr) return;
  plan.width = kBlockFewColumns;
  plan.panels = std::static_pointer_cast<const std::int8_t>(ctx.packs->get(
      {weights, static_cast<int>(KernelId::matmul_nbits), {plan.format.size, plan.n}},
      [&] { return pack_panels(plan, weights, ctx.isa); }));
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
  const BlockFns& blocks = block_fns(ctx.isa);
  plan->group = blocks.width;
  plan->dequantize = blocks.columns[block_fn(plan->format.bits)];
  plan->n = y.dims[y.rank - 1];
  plan->m = y.elements() / plan->n;
  plan->x_row = plan->format.size;
  plan->y_row = plan->n;
  const bool few = plan->m <= plan->fns->rows;
  if (plan->m <= kMaxBlockProductRows)
    plan->multiply =
        blocks.multiply[block_fn(plan->format.bits)][static_cast<std::size_t>(plan->m - 1)];
  plan->width = few ? kBlockFewColumns : plan->fns->panel;
  plan->depth = few ? kFewRowsDepth : kManyRowsDepth;
  take_panels(ctx, *plan);
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
