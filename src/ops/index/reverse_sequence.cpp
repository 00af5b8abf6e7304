#include <algorithm>

#include "ops/indices.h"
#include "ops/lines.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "ops/step_rules.h"
#include "tensor/strided_copy.h"

namespace scanloom::ops {
namespace {

using tensor::Operand;
using tensor::Shape;
using tensor::Type;

constexpr int kBatchAxis = 0;
constexpr int kTimeAxis = 1;

Expected<void> infer(ir::InferCtx& ctx) {
  const Type &x = ctx.in(0), &lens = ctx.in(1);
  ctx.set(0, x);
  if (lens.ranked && lens.rank() != 1)
    return invalid_model("sequence_lens has {} axes, not 1", lens.rank());
  if (!x.ranked) return {};
  SCANLOOM_TRY(const int batch, ctx.axis(ctx.attr(kBatchAxis).integer(), x.rank()));
  SCANLOOM_TRY(const int time, ctx.axis(ctx.attr(kTimeAxis).integer(), x.rank()));
  if (batch == time) return invalid_model("batch_axis and time_axis are both {}", batch);
  if (!lens.ranked) return {};
  SCANLOOM_CHECK_OK(same_size(ctx, x.dims[static_cast<std::size_t>(batch)], lens.dims[0],
                              fmt::format("axis {} of x and sequence_lens", batch)));
  return {};
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const Operand &x = call.in(0), &lens = call.in(1), &y = call.out(0);
  const int batch = checked_axis(call.attrs[kBatchAxis], x.rank);
  const int time = checked_axis(call.attrs[kTimeAxis], x.rank);
  // One block per row and step: all other axes.
  Shape block = x.shape(), from = strides_of(x), to = strides_of(y);
  for (const int axis : {std::max(batch, time), std::min(batch, time)}) {
    block.erase(axis);
    from.erase(axis);
    to.erase(axis);
  }
  const std::int64_t steps = x.dims[time];
  for (std::int64_t row = 0; row < x.dims[batch]; ++row) {
    const std::int64_t length = listed_index(lens, row);
    if (length < 0 || length > steps)
      return call.fail("sequence length {} is outside the {} steps of x", length, steps);
    if (x.empty()) continue;
    for (std::int64_t step = 0; step < steps; ++step) {
      const std::int64_t source = step < length ? length - 1 - step : step;
      const std::int64_t at = row * x.strides[batch] + source * x.strides[time];
      tensor::copy_strided(x.dtype, block.dims(), tensor::advance(x.data<std::byte>(), x.dtype, at),
                           from.data(),
                           tensor::advance(y.data<std::byte>(), y.dtype,
                                           row * y.strides[batch] + step * y.strides[time]),
                           to.data());
    }
  }
  return tensor::Status::ok;
}

Expected<int> steps(const ir::StepSite& s) {
  const auto axis = [&](std::string_view name) {
    return tensor::normalise_axis(attr_of(s.node, name).integer(), s.type(0).rank());
  };
  if (axis("time_axis") == s.axis(0)) return across("it works along their axis");
  const bool by_row = axis("batch_axis") == s.axis(0);
  if (!s.along(0) || s.along(1) != by_row)
    return across("its operands have the steps on other axes");
  return s.axis(0);
}

}  // namespace

constinit const ir::OpDef reverse_sequence_op{
    .name = "reverse_sequence",
    .doc =
        "x, with the first sequence_lens[b] steps of every row b of the batch in reverse order; "
        "later steps stay.",
    .inputs = {{"x", ir::Accept::tensor}, {"sequence_lens", ir::Accept::index}},
    .outputs = {"y"},
    .attrs = {{"batch_axis", tensor::AttrKind::integer}, {"time_axis", tensor::AttrKind::integer}},
    .effects = ir::Effects::may_fail,
    .infer = infer,
    .reference = reference,
    .steps = {.axis = steps, .any_operand = true},
};

}  // namespace scanloom::ops
