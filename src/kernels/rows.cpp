// rows: several nodes in one call, element-wise ones and reductions over the last axes, block of
// rows by block (rows_plan.h).
#include <algorithm>
#include <memory>

#include "base/thread_pool.h"
#include "kernels/kernel.h"
#include "kernels/line_axis.h"
#include "kernels/rows_plan.h"

namespace scanloom::kernels {
namespace {
namespace rows {

using tensor::Call;
using tensor::Status;
using Kind = RowOperand::Kind;
using Mode = RowStep::Mode;

constexpr std::int64_t kElementsBetweenPolls = 64 * 1024;

constexpr std::int64_t lines_of(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

/// Runs the blocks of one slot, in scratch of its own.
class RowsRun {
 public:
  RowsRun(const RowsPlan& plan, const Call& call, std::byte* scratch)
      : plan_(plan),
        call_(call),
        base_(reinterpret_cast<std::byte**>(scratch)),
        table_(base_ + plan.value_count),
        parts_(scratch + lines_of(2 * 8 * plan.value_count)) {
    std::byte* at = parts_ + plan.folds * tensor::kMaxParts * 8;
    for (std::size_t i = 0; i < plan.constants.size(); ++i)
      base_[i] = const_cast<std::byte*>(reinterpret_cast<const std::byte*>(&plan.constants[i]));
    const auto columns = [&](int first, int last, std::int64_t bytes) {
      for (int i = first; i < last; ++i, at += lines_of(bytes)) base_[i] = at;
    };
    columns(plan.first_row_column, plan.first_chunk_column, plan.block * 8);
    columns(plan.first_chunk_column, plan.first_block_column, plan.chunk * plan.element_bytes);
    columns(plan.first_block_column, plan.first_operand,
            plan.block * plan.size * plan.element_bytes);
    begin();
  }

  /// Returns false if the run is to stop.
  bool blocks(std::int64_t first, std::int64_t last) {
    for (std::int64_t block = first; block < last; ++block) {
      unpolled_ += plan_.block * plan_.size;
      if (unpolled_ >= kElementsBetweenPolls) {
        unpolled_ = 0;
        if (call_.stop_requested()) return false;
      }
      first_row_ = block * plan_.block;
      rows_ = std::min(plan_.block, plan_.rows - first_row_);
      run_block();
    }
    return true;
  }

 private:
  /// What is the same for all blocks.
  void begin() {
    for (const RowOperand& input : plan_.inputs) {
      if (input.kind == Kind::single || (input.kind == Kind::inner && plan_.block == 1))
        base_[input.value] = data(input);
      if (input.kind != Kind::inner || plan_.block == 1) continue;
      const std::int64_t bytes = plan_.size * input.bytes;
      for (std::int64_t row = 0; row < plan_.block; ++row)
        std::copy_n(data(input), bytes, base_[input.value] + row * bytes);
    }
    std::copy_n(base_, plan_.value_count, table_);
    for (const Spread& each : plan_.row_spreads)
      fill_column(table_[each.from], each.bytes, plan_.block, table_[each.to]);
    for (const Spread& each : plan_.spreads)
      fill_column(table_[each.from], each.bytes, plan_.chunk, table_[each.to]);
  }

  [[nodiscard]] std::byte* data(const RowOperand& input) const {
    return call_.in(input.index).data<std::byte>();
  }

  void run_block() {
    for (const RowOperand& input : plan_.inputs) {
      if (input.kind == Kind::elements)
        base_[input.value] = data(input) + first_row_ * plan_.size * input.bytes;
      if (input.kind == Kind::per_row)
        gather({plan_.dims.data(), input.strides.data(), 0, plan_.row_rank, input.bytes},
               data(input), first_row_, rows_, base_[input.value]);
    }
    for (const RowOperand& output : plan_.outputs)
      base_[output.value] =
          call_.out(output.index).data<std::byte>() +
          first_row_ * (output.kind == Kind::per_row ? 1 : plan_.size) * output.bytes;
    const std::int64_t elements = rows_ * plan_.size;
    for (const RowPhase& phase : plan_.phases) {
      for (const RowOperand& output : plan_.outputs) table_[output.value] = base_[output.value];
      for (const RowStep& step : phase.rows) run_elements(step, rows_);
      for (std::int64_t start = 0; start < elements; start += plan_.chunk) {
        const std::int64_t count = std::min(plan_.chunk, elements - start);
        if (!phase.elements.empty()) move_to(start, count, &phase == plan_.phases.data());
        for (const RowStep& step : phase.elements) run_step(step, start, count);
      }
      if (plan_.is_one_chunk()) continue;
      for (const RowStep& step : phase.elements)
        if (step.folds()) step.fold.finish(parts_of(step), table_[step.folded()]);
    }
  }

  /// Points to the chunk's elements, and gathers those that are not adjacent.
  void move_to(std::int64_t start, std::int64_t count, bool is_first) {
    const bool whole = plan_.is_one_chunk();
    for (const RowOperand& input : plan_.inputs) {
      if (input.kind == Kind::elements || (input.kind == Kind::inner && plan_.block == 1))
        table_[input.value] = base_[input.value] + start * input.bytes;
      if (input.kind == Kind::strided && (is_first || !whole))
        gather({plan_.dims.data(), input.strides.data(), 0, plan_.rank, input.bytes}, data(input),
               first_row_ * plan_.size + start, count, base_[input.value]);
    }
    if (whole) return;
    for (const RowOperand& output : plan_.outputs)
      if (output.kind == Kind::elements)
        table_[output.value] = base_[output.value] + start * output.bytes;
    for (int i = plan_.first_block_column; i < plan_.first_operand; ++i)
      table_[i] = base_[i] + start * plan_.element_bytes;
  }

  void run_elements(const RowStep& step, std::int64_t count) const {
    step.fn(table_[step.out], table_[step.args[0]], table_[step.args[1]], table_[step.args[2]],
            count);
  }

  void run_step(const RowStep& step, std::int64_t start, std::int64_t count) {
    const std::int64_t row = plan_.is_one_chunk() ? plan_.size : count;
    std::byte* const out = table_[step.out];
    const std::byte* const a = table_[step.args[0]];
    switch (step.mode) {
      case Mode::rows:
      case Mode::elements:
        return run_elements(step, count);
      case Mode::by_row:
        for (std::int64_t i = 0; i < rows_; ++i)
          step.fn(out + i * row * step.bytes, a + i * step.row_steps[0],
                  table_[step.args[1]] + i * step.row_steps[1],
                  table_[step.args[2]] + i * step.row_steps[2], row);
        return;
      case Mode::fill:
        for (std::int64_t i = 0; i < rows_; ++i)
          fill_column(a + i * step.bytes, step.bytes, row, out + i * row * step.bytes);
        return;
      case Mode::fold:
        if (plan_.is_one_chunk())
          step.fold.rows(a, plan_.size, plan_.size, rows_, out);
        else
          step.fold.add(parts_of(step), a, count, start == 0);
        return;
      case Mode::fold_shifted:
      case Mode::fold_exp:
        if (!plan_.is_one_chunk()) return add_shifted(step, 0, count, start == 0);
        for (std::int64_t i = 0; i < rows_; ++i) {
          add_shifted(step, i, row, true);
          step.fold.finish(parts_of(step), table_[step.folded()] + i * step.bytes);
        }
    }
  }

  /// Folds `count` elements of a row of the chunk.
  void add_shifted(const RowStep& step, std::int64_t row, std::int64_t count, bool is_first) const {
    const std::int64_t before = row * count * step.bytes;
    const std::byte* const x = table_[step.args[0]] + before;
    const std::byte* const shift = table_[step.args[1]] + row * step.row_steps[1];
    if (step.mode == Mode::fold_shifted)
      return step.fold.add_shifted(parts_of(step), x, shift, count, is_first);
    std::byte* const out = step.stores ? table_[step.out] + before : nullptr;
    step.fold.add_exp(parts_of(step), x, shift, out, count, is_first);
  }

  [[nodiscard]] std::byte* parts_of(const RowStep& step) const {
    return parts_ + step.parts * tensor::kMaxParts * 8;
  }

  const RowsPlan& plan_;
  const Call& call_;
  std::byte** const base_;   // by ValueId: where the block begins
  std::byte** const table_;  // by ValueId: where the chunk begins
  std::byte* const parts_;
  std::int64_t first_row_ = 0, rows_ = 0;
  std::int64_t unpolled_ = 0;
};

Status run(const Call& call) noexcept {
  const auto& plan = *static_cast<const RowsPlan*>(call.prepared);
  const std::int64_t blocks = (plan.rows + plan.block - 1) / plan.block;
  const std::int64_t slots = call.max_threads > 1 ? plan.slots : 1;
  const auto run_slot = [&](std::int64_t slot) {
    RowsRun(plan, call, *call.scratch + slot * plan.slot_bytes())
        .blocks(slot * blocks / slots, (slot + 1) * blocks / slots);
  };
  if (slots > 1)
    parallel_for(slots, call.max_threads, run_slot);
  else
    run_slot(0);
  return call.ok_or_stopped();
}

Prepared prepare(const PrepareCtx& ctx) {
  auto plan = std::make_shared<RowsPlan>();
  if (auto why = lower_rows(ctx, *plan)) return Prepared::no(*std::move(why));
  const std::int64_t scratch = plan->slots * plan->slot_bytes();
  return {.state = std::move(plan), .scratch_bytes = scratch};
}

}  // namespace rows
}  // namespace

extern constinit const KernelDef rows_kernel{
    .name = "rows",
    .doc = "Element programs with reductions over the last axes, block by block of rows.",
    .prepare = rows::prepare,
    .run = rows::run,
};

}  // namespace scanloom::kernels
