#include <algorithm>

#include "ops/indices.h"
#include "ops/lines.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "ops/step_rules.h"
#include "tensor/strided_copy.h"
#include "tensor/visit.h"

namespace scanloom::ops {
namespace {
namespace reverse_sequence {

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

/// The blocks of all axes but `batch` and `time`.
struct ReversedBlocks {
  int batch = 0, time = 0;
  Shape dims, from, to;
  /// Whether the elements of a block are adjacent.
  [[nodiscard]] bool are_runs() const {
    return tensor::is_contiguous(dims.dims(), from.dims()) &&
           tensor::is_contiguous(dims.dims(), to.dims());
  }
};

ReversedBlocks blocks_of(const tensor::Call& call) {
  const Operand &x = call.in(0), &y = call.out(0);
  ReversedBlocks blocks{checked_axis(call.attrs[kBatchAxis], x.rank),
                        checked_axis(call.attrs[kTimeAxis], x.rank), x.shape(), strides_of(x),
                        strides_of(y)};
  for (const int axis :
       {std::max(blocks.batch, blocks.time), std::min(blocks.batch, blocks.time)}) {
    blocks.dims.erase(axis);
    blocks.from.erase(axis);
    blocks.to.erase(axis);
  }
  return blocks;
}

/// Calls f(offset in x, offset in y) for every block, in the order of y.
template <class F>
void for_each_reversed(const tensor::Call& call, const ReversedBlocks& blocks, const F& f) {
  const Operand &x = call.in(0), &lens = call.in(1), &y = call.out(0);
  const std::int64_t rows = x.dims[blocks.batch], steps = x.dims[blocks.time];
  const auto visit = [&](std::int64_t row, std::int64_t length, std::int64_t step) {
    const std::int64_t source = step < length ? length - 1 - step : step;
    f(row * x.strides[blocks.batch] + source * x.strides[blocks.time],
      row * y.strides[blocks.batch] + step * y.strides[blocks.time]);
  };
  if (y.strides[blocks.time] > y.strides[blocks.batch]) {
    for (std::int64_t step = 0; step < steps; ++step)
      for (std::int64_t row = 0; row < rows; ++row) visit(row, listed_index(lens, row), step);
    return;
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t length = listed_index(lens, row);
    for (std::int64_t step = 0; step < steps; ++step) visit(row, length, step);
  }
}

template <class T>
void reverse_runs(const tensor::Call& call, const ReversedBlocks& blocks) {
  const T* const x = call.in(0).data<const T>();
  T* const y = call.out(0).data<T>();
  const std::int64_t run = blocks.dims.elements();
  if (run == 1)
    for_each_reversed(call, blocks, [&](std::int64_t from, std::int64_t to) { y[to] = x[from]; });
  else
    for_each_reversed(call, blocks, [&](std::int64_t from, std::int64_t to) {
      std::copy_n(x + from, run, y + to);
    });
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const Operand &x = call.in(0), &lens = call.in(1), &y = call.out(0);
  const ReversedBlocks blocks = blocks_of(call);
  const std::int64_t steps = x.dims[blocks.time];
  for (std::int64_t row = 0; row < x.dims[blocks.batch]; ++row)
    if (const std::int64_t length = listed_index(lens, row); length < 0 || length > steps)
      return call.fail("sequence length {} is outside the {} steps of x", length, steps);
  if (x.empty()) return tensor::Status::ok;
  if (blocks.are_runs())
    tensor::visit_bytes(x.dtype,
                        [&]<class T>(std::type_identity<T>) { reverse_runs<T>(call, blocks); });
  else
    for_each_reversed(call, blocks, [&](std::int64_t from, std::int64_t to) {
      tensor::copy_strided(x.dtype, blocks.dims.dims(),
                           tensor::advance(x.data<std::byte>(), x.dtype, from), blocks.from.data(),
                           tensor::advance(y.data<std::byte>(), y.dtype, to), blocks.to.data());
    });
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

}  // namespace reverse_sequence
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
    .infer = reverse_sequence::infer,
    .reference = reverse_sequence::reference,
    .steps = {.axis = reverse_sequence::steps, .any_operand = true},
};

}  // namespace scanloom::ops
