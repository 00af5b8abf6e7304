// Updates are applied in row-major order of the indices, so the last of several wins and sums have
// a fixed order.
#include "ops/index/index_steps.h"
#include "ops/index/scatter_reduction.h"
#include "ops/indices.h"
#include "ops/lines.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "tensor/paced_poll.h"
#include "tensor/strided_copy.h"

namespace scanloom::ops {
namespace {
namespace scatter_elements {

using tensor::Dim;
using tensor::Operand;
using tensor::Type;

constexpr int kAxis = 0;
constexpr int kReduction = 1;

Expected<void> check_operands(ir::InferCtx& ctx) {
  const Type &data = ctx.in(0), &indices = ctx.in(1), &updates = ctx.in(2);
  if (indices.ranked && updates.ranked && indices.rank() != updates.rank())
    return invalid_model("indices has {} axes, but updates has {}", indices.rank(), updates.rank());
  if (!data.ranked) return {};
  if (indices.ranked && indices.rank() != data.rank())
    return invalid_model("indices has {} axes, but data has {}", indices.rank(), data.rank());
  SCANLOOM_TRY(const int along, ctx.axis(ctx.attr(kAxis).integer(), data.rank()));
  if (!indices.ranked) return {};
  for (int axis = 0; axis < data.rank(); ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    const Dim size = data.dims[i], count = indices.dims[i];
    if (axis != along && size.is_constant() && count.is_constant() && count.value() > size.value())
      return invalid_model("indices has size {} on axis {}, but data has {}", count.value(), axis,
                           size.value());
    if (updates.ranked)
      SCANLOOM_CHECK_OK(same_size(ctx, count, updates.dims[i],
                                  fmt::format("axis {} of indices and updates", axis)));
  }
  return {};
}

Expected<void> infer(ir::InferCtx& ctx) {
  SCANLOOM_CHECK_OK(check_reduction(ctx.attr(kReduction).text(), ctx.dtype()));
  SCANLOOM_CHECK_OK(check_operands(ctx));
  ctx.set(0, ctx.in(0));
  return {};
}

/// Calls update(existing element, update) for each update.
template <class T, class Index, class Update>
tensor::Status scatter(const tensor::Call& call, const Update& update) {
  const Operand &indices = call.in(1), &updates = call.in(2), &y = call.out(0);
  const int axis = checked_axis(call.attrs[kAxis], y.rank);
  const std::int64_t size = y.dims[axis], stride = y.strides[axis];
  tensor::Shape others = strides_of(y);
  others[axis] = 0;
  tensor::RowCursor<3> rows({indices.dims, static_cast<std::size_t>(indices.rank)});
  rows.add(others.data());
  rows.add(indices.strides);
  rows.add(updates.strides);
  rows.start();
  const std::int64_t to_step = rows.step(0), index_step = rows.step(1), from_step = rows.step(2);
  tensor::PacedPoll poll(call);
  for (; !rows.done(); rows.next()) {
    if (poll.stops(rows.length())) break;
    T* const to = y.data<T>() + rows.offset(0);
    const Index* const index = indices.data<const Index>() + rows.offset(1);
    const T* const from = updates.data<const T>() + rows.offset(2);
    for (std::int64_t i = 0; i < rows.length(); ++i) {
      const std::int64_t position = position_of(index[i * index_step], size);
      if (position < 0)
        return call.fail("index {} is outside an axis of {} elements", index[i * index_step], size);
      T& there = to[i * to_step + position * stride];
      there = update(there, from[i * from_step]);
    }
  }
  return call.ok_or_stopped();
}

template <class T, class Update>
tensor::Status scatter_any(const tensor::Call& call, const Update& update) {
  return visit_index(call.in(1), [&]<class Index>(std::type_identity<Index>) {
    return scatter<T, Index>(call, update);
  });
}

tensor::Status reference(const tensor::Call& call) noexcept {
  if (!tensor::is_same_memory(call.in(0), call.out(0)))
    tensor::copy_in_order(call.in(0), call.out(0));
  const auto reduction =
      scatter_reduction_of(call.attrs[kReduction].text()).value_or(Reduction::none);
  if (reduction == Reduction::none)
    return tensor::visit_bytes(call.out(0).dtype, [&]<class T>(std::type_identity<T>) {
      return scatter_any<T>(call, [](const T&, const T& update) { return update; });
    });
  return tensor::visit_dtype(call.out(0).dtype, [&]<class T>(std::type_identity<T>) {
    if (reduction == Reduction::add)  // by far the most common; avoids a branch per element
      return scatter_any<T>(call, [](const T& there, const T& update) {
        return combine(Reduction::add, there, update);
      });
    return scatter_any<T>(
        call, [&](const T& there, const T& update) { return combine(reduction, there, update); });
  });
}

Expected<int> steps(const ir::StepSite& s) {
  for (const std::size_t i : {kDataOperand, kIndexOperand, kUpdateOperand})
    if (!s.along(i) || s.axis(i) != s.axis(kDataOperand))
      return across("its operands do not all have the steps on one axis");
  if (data_axis(s) == s.axis(kDataOperand)) return across("it writes elements of other steps");
  return s.axis(kDataOperand);
}

}  // namespace scatter_elements
}  // namespace

constinit const ir::OpDef scatter_elements_op{
    .name = "scatter_elements",
    .doc =
        "data, with every update written at its own position, except along `axis`, where the index "
        "is the position; negative ones count from the back. `reduction` is none, add, mul, max or "
        "min; among several updates of one element without reduction the last one wins.",
    .inputs = {{"data", ir::Accept::tensor},
               {"indices", ir::Accept::index},
               {.name = "updates", .accept = ir::Accept::tensor, .same_as = 0}},
    .outputs = {"y"},
    .attrs = {{"axis", tensor::AttrKind::integer}, {"reduction", tensor::AttrKind::text}},
    .effects = ir::Effects::may_fail,
    .infer = scatter_elements::infer,
    .reference = scatter_elements::reference,
    .writes_part = true,
    .steps = {.axis = scatter_elements::steps, .any_operand = true},
};

}  // namespace scanloom::ops
