#include "kernels/lstm_weights.h"

#include <algorithm>
#include <vector>

#include "base/mapped_file.h"
#include "kernels/any_address.h"

namespace scanloom::kernels {
namespace {

/// Returns the row of W, R or the biases that becomes this packed column; -1: padding.
std::int64_t row_of_column(const LstmSchedule& plan, std::int64_t column) {
  const std::int64_t lanes = plan.simd->f32.panel / 2;
  const std::int64_t block = column / (4 * lanes), gate = column / lanes % 4;
  const std::int64_t unit = block * lanes + column % lanes;
  return unit < plan.hidden ? gate * plan.hidden + unit : -1;
}

/// Writes the rows of `from` as columns of panels, k rows deep.
void pack_matrix(const LstmSchedule& plan, const float* from, std::int64_t row_stride,
                 std::int64_t k_stride, std::int64_t k, float* to) {
  const std::int64_t panel = plan.simd->f32.panel;
  for (std::int64_t column = 0; column < 4 * plan.units; ++column) {
    const std::int64_t row = row_of_column(plan, column);
    float* at = to + column / panel * panel * k + column % panel;
    for (std::int64_t i = 0; i < k; ++i)
      at[i * panel] = row < 0 ? 0 : element_at(from, row * row_stride + i * k_stride);
  }
}

void pack_direction(const LstmSchedule& plan, const LstmSource& w, const LstmSource& r,
                    const LstmSource& b, std::int64_t d, float* to) {
  const std::int64_t *ws = w.operand->strides, *rs = r.operand->strides;
  pack_matrix(plan, w.data + d * ws[0], ws[1], ws[2], plan.input, to);
  to += 4 * plan.units * plan.input;
  pack_matrix(plan, r.data + d * rs[0], rs[1], rs[2], plan.hidden, to);
  to += 4 * plan.units * plan.hidden;
  for (std::int64_t column = 0; column < 4 * plan.units; ++column) {
    const std::int64_t row = row_of_column(plan, column);
    to[column] = 0;
    if (row < 0 || b.data == nullptr) continue;
    const float* biases = b.data + d * b.operand->strides[0];
    to[column] = element_at(biases, row * b.operand->strides[1]) +
                 element_at(biases, (4 * plan.hidden + row) * b.operand->strides[1]);
  }
}

std::shared_ptr<const void> pack_constants(const PrepareCtx& ctx, const LstmSchedule& plan) {
  const auto source = [&](std::size_t i) {
    const bool present = i < ctx.inputs.size() && ctx.inputs[i].present();
    return present ? LstmSource{static_cast<const float*>(ctx.constants[i]), &ctx.inputs[i]}
                   : LstmSource{};
  };
  std::shared_ptr<float> to = packed_memory<float>(plan.directions * plan.weights_floats);
  pack_lstm_weights(plan, source(kW), source(kR), source(kB), to.get());
  // From now on only the copy is read.
  for (const std::size_t i : {kW, kR})
    if (ctx.inputs[i].contiguous)
      release_file_pages(ctx.constants[i],
                         static_cast<std::size_t>(ctx.inputs[i].elements()) * sizeof(float));
  return to;
}

/// The pack key's numbers. W alone does not identify the R and B that go with it.
std::vector<std::int64_t> layout_of(const PrepareCtx& ctx, const LstmSchedule& plan) {
  std::vector<std::int64_t> layout{static_cast<std::int64_t>(ctx.isa), plan.directions, plan.input,
                                   plan.hidden};
  for (const std::size_t i : {kW, kR, kB}) {
    if (i >= ctx.inputs.size() || !ctx.inputs[i].present()) continue;
    layout.push_back(reinterpret_cast<std::intptr_t>(ctx.constants[i]));
    layout.insert(layout.end(), ctx.inputs[i].strides, ctx.inputs[i].strides + ctx.inputs[i].rank);
  }
  return layout;
}

}  // namespace

std::int64_t LstmSchedule::tasks_per_direction(int threads) const {
  const std::int64_t least = directions * round_up(batch, kMaxLstmTaskRows) / kMaxLstmTaskRows;
  const std::int64_t each = round_up(least, threads) / directions;
  // Threads that share the units of single rows read large weights from their own caches.
  const std::int64_t most = shares_units() ? batch / 2 : batch;
  return std::clamp<std::int64_t>(each, 1, std::max<std::int64_t>(most, 1));
}

std::int64_t LstmSchedule::chunk(std::int64_t rows) const {
  return std::clamp<std::int64_t>(product_rows / std::max<std::int64_t>(rows, 1), 1,
                                  std::max<std::int64_t>(steps, 1));
}

std::int64_t LstmSchedule::task_floats(std::int64_t rows) const {
  const std::int64_t states = has_lengths ? 4 : 3;
  // At least the rows of a chunk; unlike them, it never falls as `rows` grows.
  const std::int64_t ahead = std::min(std::max(product_rows, rows), rows * steps);
  return round_up((states * rows + 4 * ahead) * units, 16);
}

bool weights_are_constant(const PrepareCtx& ctx) {
  const bool has_bias = ctx.inputs.size() > kB && ctx.inputs[kB].present();
  return ctx.packs != nullptr && ctx.constants[kW] != nullptr && ctx.constants[kR] != nullptr &&
         (!has_bias || ctx.constants[kB] != nullptr);
}

void pack_lstm_weights(const LstmSchedule& plan, const LstmSource& w, const LstmSource& r,
                       const LstmSource& b, float* to) {
  for (std::int64_t d = 0; d < plan.directions; ++d)
    pack_direction(plan, w, r, b, d, to + d * plan.weights_floats);
}

std::shared_ptr<const void> constant_lstm_weights(const PrepareCtx& ctx, const LstmSchedule& plan) {
  if (!weights_are_constant(ctx)) return nullptr;
  return ctx.packs->get({ctx.constants[kW], static_cast<int>(KernelId::lstm), layout_of(ctx, plan)},
                        [&] { return pack_constants(ctx, plan); });
}

}  // namespace scanloom::kernels
