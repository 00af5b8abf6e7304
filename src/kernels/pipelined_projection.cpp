#include "kernels/pipelined_projection.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/simd.h"

namespace scanloom::kernels {
namespace {

using tensor::Call;
using tensor::Status;

// A step does not wait for weights that stay in the L1 cache.
constexpr std::int64_t kMinFloats = 9 * 1024;
// Blocks per task.
constexpr std::int64_t kTaskBlocks = 2;
// A block of at least this many steps can compute the first rows of the next block. It writes them
// over its own first rows, which have been read by then.
constexpr std::int64_t kMinSteps = 2 * kRowsAhead;

// A block of steps, whose rows are in memory at the same time. During each whole chunk of
// kRowsAhead steps the rows of the next chunk are computed. The last chunk ends with the block.
struct StepBlock {
  std::int64_t first = 0, steps = 0;
  bool is_last = false;

  /// Only the first block can be: the others have kMinSteps or more.
  [[nodiscard]] bool is_short() const { return steps < kMinSteps; }
  [[nodiscard]] bool follows_short() const { return first > 0 && first < kMinSteps; }
  /// Steps before the first whole chunk.
  [[nodiscard]] std::int64_t lead() const { return first == 0 ? steps % kRowsAhead : 0; }
  /// Steps whose rows are computed before the block's first step. For a short block that is all of
  /// them; the block after it then starts without its first chunk, too.
  [[nodiscard]] std::int64_t made_before() const {
    if (is_short()) return steps;
    if (first == 0) return lead() + kRowsAhead;
    return follows_short() ? kRowsAhead : 0;
  }
};

// The product of all steps, or of a block of them.
struct AllSteps {
  const SimdTables* simd = nullptr;
  PackedProduct product;
  /// product.m, or the steps of all blocks if a block computes rows of the next.
  std::int64_t steps = 0;
  std::vector<float> bias;  ///< in whole panels; empty: no bias
  bool backwards = false;   ///< the last row belongs to the first step
  /// Whether the products of a step are large enough for threads to share. If not, threads do
  /// better to share the product of all steps.
  bool shared = false;

  [[nodiscard]] bool is_pipelined(int threads) const { return threads == 1 || shared; }
  [[nodiscard]] std::int64_t panel() const { return simd->f32.panel; }
  [[nodiscard]] std::int64_t whole_panels() const { return product.n / panel(); }

  [[nodiscard]] const float* bias_of(std::int64_t column) const {
    return bias.empty() ? nullptr : bias.data() + column;
  }

  /// Maps a step of a block to its row and back; also defined for steps after the block.
  [[nodiscard]] std::int64_t row_of(std::int64_t step) const {
    return backwards ? product.m - 1 - step : step;
  }
  [[nodiscard]] std::int64_t sign() const { return backwards ? -1 : 1; }

  /// The block that begins at x; `whole` is the start of the operand.
  [[nodiscard]] StepBlock block_at(const float* x, const float* whole) const {
    StepBlock block;
    if (steps > product.m) {
      const std::int64_t row = (x - whole) / product.a_row;
      block.first = backwards ? steps - product.m - row : row;
    }
    block.steps = block.first == 0 ? steps_of_first_block(steps, product.m) : product.m;
    block.is_last = block.first + block.steps == steps;
    return block;
  }

  /// Computes the rows of `count` steps from `step` on, for the columns from `column` (the start of
  /// a panel) on. They are stored in the rows of the block's steps from `place` on.
  void make(const float* x, float* rows, std::int64_t step, std::int64_t position,
            std::int64_t count, std::int64_t column, int threads) const {
    Product<float> p;
    p.m = count;
    p.a = x + row_of(step) * product.a_row;
    p.a_row = sign() * product.a_row;
    p.a_step = product.a_step;
    p.b = {nullptr, product.k, product.n - column, 0, 1};
    p.packed = static_cast<const float*>(product.packed.get()) + column * product.k;
    p.c = rows + row_of(position) * product.c_row + column;
    p.c_row = sign() * product.c_row;
    p.bias = bias_of(column);
    multiply(simd->f32, p, threads);
  }
};

// The input that a call of the first rows has after those of a product.
constexpr int kWholeOfFirstRows = 2;

Status run_first_rows(const Call& call) noexcept {
  const AllSteps& all = *static_cast<const AllSteps*>(call.prepared);
  const float* x = call.in(all.product.a_input).data<const float>();
  const StepBlock block = all.block_at(x, call.in(kWholeOfFirstRows).data<const float>());
  const bool pipelined = all.is_pipelined(call.max_threads);
  const std::int64_t count = pipelined ? block.made_before() : block.steps;
  if (count > 0) all.make(x, call.out(0).data<float>(), 0, 0, count, 0, call.max_threads);
  return Status::ok;
}

// A product of a step.
struct OneStep {
  std::shared_ptr<const AllSteps> all;
  PackedProduct product;
  Prepared alone;  ///< the call that this one replaces
  tensor::KernelFn run_alone = nullptr;
  /// Of the step's `all_blocks` blocks, this product has `blocks` from `first_block` on.
  std::int64_t first_block = 0, blocks = 0, all_blocks = 0;
};

constexpr int kRowsInput = 2, kSliceInput = 3, kWholeInput = 4, kRowsOutput = 1;

Status run_alone(const OneStep& step, Call call) {
  call.prepared = step.alone.state.get();
  return step.run_alone(call);
}

Strip<float> strip_of(const OneStep& step, const Call& call) {
  const PackedProduct& product = step.product;
  const std::int64_t panel = step.all->panel();
  Strip<float> s;
  s.columns = product.n;
  s.k = product.k;
  s.a = call.in(product.a_input).data<const float>();
  s.a_step = 1;
  s.b = static_cast<const float*>(product.packed.get());
  s.b_step = panel;
  s.b_panel = panel * product.k;
  s.padded = true;
  s.c = call.out(0).data<float>();
  return s;
}

// Blocks [first, last) of the strip, and their part of the pipelined product.
void run_blocks(const OneStep& step, const Strip<float>& whole,
                const PipelinedProduct<float>& pipelined, std::int64_t first, std::int64_t last) {
  const std::int64_t panel = step.all->panel();
  Strip<float> s = whole;
  s.b += first * 2 * s.b_panel;
  s.c += first * 2 * panel;
  s.columns = (last - first) * 2 * panel;
  step.all->simd->pipelined_strip(s, share_pipelined(pipelined, panel, first, last, step.blocks));
}

void run_step(const OneStep& step, const Call& call, const PipelinedProduct<float>& pipelined) {
  const SimdTables& simd = *step.all->simd;
  const PipelinedProduct<float> own = share_pipelined(
      pipelined, simd.f32.panel, step.first_block, step.first_block + step.blocks, step.all_blocks);
  Strip<float> s = strip_of(step, call);
  if (call.max_threads > 1 && s.k * s.columns > kMinThreadWorkOfRow) {
    parallel_for((step.blocks + kTaskBlocks - 1) / kTaskBlocks, call.max_threads,
                 [&](std::int64_t task) {
                   const std::int64_t first = task * kTaskBlocks;
                   run_blocks(step, s, own, first, std::min(first + kTaskBlocks, step.blocks));
                 });
  } else {
    s.backwards = goes_backwards(s.b, s.columns * s.k * static_cast<std::int64_t>(sizeof(float)));
    run_blocks(step, s, own, 0, step.blocks);
  }
  const std::int64_t done = step.blocks * 2 * simd.f32.panel;
  if (done == s.columns) return;
  s.b += 2 * step.blocks * s.b_panel;
  s.c += done;
  s.columns -= done;
  s.backwards = false;
  simd.f32.strip[0](s);
}

Status run_one_step(const Call& call) noexcept {
  const OneStep& step = *static_cast<const OneStep*>(call.prepared);
  const AllSteps& all = *step.all;
  const PackedProduct& product = all.product;
  if (!all.is_pipelined(call.max_threads)) return run_alone(step, call);
  const float* x = call.in(kRowsInput).data<const float>();
  float* rows = call.out(kRowsOutput).data<float>();
  const StepBlock block = all.block_at(x, call.in(kWholeInput).data<const float>());
  const std::int64_t row = (call.in(kSliceInput).data<const float>() - rows) / product.c_row;
  const std::int64_t in_chunks = all.row_of(row) - block.lead();
  if (block.is_short() || in_chunks < 0) return run_alone(step, call);
  const std::int64_t round = in_chunks % kRowsAhead;
  const std::int64_t next = all.row_of(row) - round + kRowsAhead;
  const bool in_next_block = next == block.steps;
  if (in_next_block && block.is_last) return run_alone(step, call);
  const std::int64_t position = in_next_block ? 0 : next;
  // Columns beyond the last whole panel are computed at once.
  const std::int64_t pipelined_columns = all.whole_panels() * all.panel();
  if (round == 0 && step.first_block == 0 && pipelined_columns < product.n)
    all.make(x, rows, next, position, kRowsAhead, pipelined_columns, call.max_threads);
  run_step(step, call,
           {.a = x + all.row_of(next) * product.a_row,
            .a_row = all.sign() * product.a_row,
            .b = static_cast<const float*>(product.packed.get()),
            .k = product.k,
            .c = rows + all.row_of(position) * product.c_row,
            .c_row = all.sign() * product.c_row,
            .bias = all.bias_of(0),
            .panels = all.whole_panels(),
            .round = round});
  return Status::ok;
}

std::shared_ptr<AllSteps> all_steps_of(const PrepareCtx& ctx, const float* bias,
                                       const RowWalk& walk) {
  const std::optional<PackedProduct> product = packed_product(ctx);
  const SimdTables& simd = simd_tables(ctx.isa);
  // If a step reads several rows of the product, its rows are not one per step.
  if (!product || simd.pipelined_strip == nullptr || product->m != walk.rows ||
      product->m < kMinSteps || product->n < simd.f32.panel || product->a_step != 1 ||
      product->c_column != 1)
    return nullptr;
  const bool makes_next =
      walk.steps > product->m && product->m % kRowsAhead == 0 && product->a_row != 0;
  const std::int64_t row_bytes = product->c_row * static_cast<std::int64_t>(sizeof(float));
  const bool backwards = walk.step_bytes < 0;
  if (row_bytes <= 0 || walk.step_bytes != (backwards ? -row_bytes : row_bytes) ||
      walk.first_bytes != (backwards ? (product->m - 1) * row_bytes : 0))
    return nullptr;
  auto all = std::make_shared<AllSteps>(AllSteps{.simd = &simd,
                                                 .product = *product,
                                                 .steps = makes_next ? walk.steps : product->m,
                                                 .backwards = backwards});
  if (bias != nullptr) {
    const std::int64_t panels = (product->n + simd.f32.panel - 1) / simd.f32.panel;
    all->bias.resize(static_cast<std::size_t>(panels * simd.f32.panel));
    std::copy_n(bias, product->n, all->bias.begin());
  }
  return all;
}

std::optional<PackedProduct> product_of_step(const PrepareCtx& ctx) {
  std::optional<PackedProduct> product = packed_product(ctx);
  if (!product || product->m != 1 || product->k * product->n < kMinFloats ||
      product->n < 2 * simd_tables(ctx.isa).f32.panel || product->a_step != 1 ||
      product->c_column != 1)
    return std::nullopt;
  return product;
}

PipelinedCall call_of(const OneStep& step) {
  const PackedProduct& all = step.all->product;
  const std::int64_t weights = all.k * all.n * step.blocks / step.all_blocks;
  // A chunk reads the weights twice, for eight rows each time.
  const std::int64_t floats = weights / 8 + all.k + all.n * step.blocks / step.all_blocks;
  return {.run = run_one_step,
          .prepared = std::make_shared<const OneStep>(step),
          .products = static_cast<double>(weights),
          .bytes = floats * static_cast<std::int64_t>(sizeof(float))};
}

}  // namespace

bool can_be_pipelined(std::int64_t a, std::int64_t b, std::int64_t result) {
  return simd_tables(active_isa()).pipelined_strip != nullptr &&
         std::min(a, b) * result == std::max(a, b) && std::max(a, b) >= kMinFloats;
}

std::int64_t steps_of_pipelined_blocks(std::int64_t steps, std::int64_t least) {
  const auto whole_chunks = [](std::int64_t count) {
    return (count + kRowsAhead - 1) / kRowsAhead * kRowsAhead;
  };
  const std::int64_t shortest = std::max(whole_chunks(least), kMinSteps);
  for (std::int64_t block = shortest; block <= 4 * shortest && block < steps; block += kRowsAhead)
    if (!StepBlock{.steps = steps_of_first_block(steps, block)}.is_short()) return block;
  return steps <= 4 * shortest ? steps : shortest;
}

std::optional<PipelinedCalls> pipelined_projection(const PrepareCtx& all_ctx, const float* bias,
                                                   const RowWalk& walk,
                                                   std::span<const PrepareCtx> step_ctxs) {
  const std::shared_ptr<AllSteps> all = all_steps_of(all_ctx, bias, walk);
  if (all == nullptr) return std::nullopt;
  std::vector<std::optional<OneStep>> steps;
  std::int64_t blocks = 0;
  for (const PrepareCtx& ctx : step_ctxs) {
    std::optional<OneStep>& step = steps.emplace_back();
    const auto product = product_of_step(ctx);
    if (!product) continue;
    const KernelDef& def = kernel(KernelId::contract);
    step = OneStep{.all = all, .product = *product, .alone = def.prepare(ctx)};
    step->run_alone = step->alone.run != nullptr ? step->alone.run : def.run;
    step->first_block = blocks;
    step->blocks = product->n / (2 * all->panel());
    blocks += step->blocks;
    all->shared |= product->k * product->n > kMinThreadWorkOfRow;
  }
  if (blocks == 0) return std::nullopt;
  PipelinedCalls calls{.first_rows = {.run = run_first_rows, .prepared = all},
                       .a_input = all->product.a_input};
  for (std::optional<OneStep>& step : steps) {
    PipelinedCall& call = calls.steps.emplace_back();
    if (!step) continue;
    step->all_blocks = blocks;
    call = call_of(*step);
  }
  return calls;
}

}  // namespace scanloom::kernels
