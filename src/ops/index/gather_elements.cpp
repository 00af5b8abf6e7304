#include "ops/index/index_steps.h"
#include "ops/indices.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "tensor/for_each.h"
#include "tensor/paced_poll.h"
#include "tensor/strided_copy.h"
#include "tensor/visit.h"

namespace scanloom::ops {
namespace {
namespace gather_elements {

using tensor::Operand;
using tensor::Type;

constexpr int kAxis = 0;

Expected<void> infer(ir::InferCtx& ctx) {
  const Type &data = ctx.in(0), &indices = ctx.in(1);
  if (data.ranked && indices.ranked) {
    if (data.rank() != indices.rank())
      return invalid_model("data has {} axes, but indices has {}", data.rank(), indices.rank());
    SCANLOOM_TRY(const int along, ctx.axis(ctx.attr(kAxis).integer(), data.rank()));
    for (int axis = 0; axis < data.rank(); ++axis) {
      const tensor::Dim size = data.dims[static_cast<std::size_t>(axis)];
      const tensor::Dim count = indices.dims[static_cast<std::size_t>(axis)];
      const bool numbers = size.is_constant() && count.is_constant();
      if (axis != along && numbers && count.value() > size.value())
        return invalid_model("indices has size {} on axis {}, but data has {}", count.value(), axis,
                             size.value());
    }
  }
  Type y = indices;
  y.dtype = data.dtype;
  ctx.set(0, std::move(y));
  return {};
}

template <class T, class Index>
tensor::Status gather(const tensor::Call& call) {
  const Operand &data = call.in(0), &indices = call.in(1), &y = call.out(0);
  const int axis = checked_axis(call.attrs[kAxis], data.rank);
  const std::int64_t size = data.dims[axis], stride = data.strides[axis];
  tensor::Shape others(std::span(data.strides, static_cast<std::size_t>(data.rank)));
  others[axis] = 0;
  tensor::RowCursor<3> rows({y.dims, static_cast<std::size_t>(y.rank)});
  rows.add(others.data());
  rows.add(indices.strides);
  rows.add(y.strides);
  rows.start();
  const std::int64_t from_step = rows.step(0), index_step = rows.step(1), to_step = rows.step(2);
  tensor::PacedPoll poll(call);
  for (; !rows.done(); rows.next()) {
    if (poll.stops(rows.length())) break;
    const T* const from = data.data<const T>() + rows.offset(0);
    const Index* const index = indices.data<const Index>() + rows.offset(1);
    T* const to = y.data<T>() + rows.offset(2);
    for (std::int64_t i = 0; i < rows.length(); ++i) {
      const std::int64_t position = position_of(index[i * index_step], size);
      if (position < 0)
        return call.fail("index {} is outside an axis of {} elements", index[i * index_step], size);
      to[i * to_step] = from[i * from_step + position * stride];
    }
  }
  return call.ok_or_stopped();
}

tensor::Status reference(const tensor::Call& call) noexcept {
  return tensor::visit_bytes(call.out(0).dtype, [&]<class T>(std::type_identity<T>) {
    return visit_index(
        call.in(1), [&]<class Index>(std::type_identity<Index>) { return gather<T, Index>(call); });
  });
}

// Along any other axis an index is at the position of its element.
Expected<int> steps(const ir::StepSite& s) {
  const auto axis = data_axis(s);
  if (!s.along(kIndexOperand)) return error_selects_steps();
  const bool points = axis == s.axis(kIndexOperand);
  if (s.along(kDataOperand) ? points || s.axis(kDataOperand) != s.axis(kIndexOperand) : !points)
    return error_other_steps();
  return s.axis(kIndexOperand);
}

}  // namespace gather_elements
}  // namespace

constinit const ir::OpDef gather_elements_op{
    .name = "gather_elements",
    .doc =
        "For every index the element of data at the same position, except along `axis`, where the "
        "index is the position; negative ones count from the back.",
    .inputs = {{"data", ir::Accept::tensor}, {"indices", ir::Accept::index}},
    .outputs = {"y"},
    .attrs = {{"axis", tensor::AttrKind::integer}},
    .effects = ir::Effects::may_fail,
    .infer = gather_elements::infer,
    .reference = gather_elements::reference,
    .picks = true,
    .steps = {.axis = gather_elements::steps, .any_operand = true},
};

}  // namespace scanloom::ops
