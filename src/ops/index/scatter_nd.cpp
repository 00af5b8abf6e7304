// Updates are applied in row-major order of the tuples, so the last of several wins and sums have a
// fixed order.
#include "ops/index/index_steps.h"
#include "ops/index/index_tuples.h"
#include "ops/index/scatter_reduction.h"
#include "ops/lines.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "tensor/strided_copy.h"

namespace scanloom::ops {
namespace {
namespace scatter_nd {

using tensor::Operand;
using tensor::Type;

constexpr int kReduction = 0;

// updates: the axes of indices except the last, then the axes of data that the tuples do not index.
Expected<void> check_updates(ir::InferCtx& ctx) {
  const Type &data = ctx.in(0), &indices = ctx.in(1), &updates = ctx.in(2);
  if (!data.ranked || !indices.ranked || !indices.dims.back().is_constant()) return {};
  const std::int64_t length = indices.dims.back().value();
  if (length > data.rank())
    return invalid_model("indices of {} numbers point into data of {} axes", length, data.rank());
  if (!updates.ranked) return {};
  std::vector<tensor::Dim> wanted(indices.dims.begin(), indices.dims.end() - 1);
  wanted.insert(wanted.end(), data.dims.begin() + length, data.dims.end());
  if (updates.dims.size() != wanted.size())
    return invalid_model("updates has {} axes, not {}", updates.rank(), wanted.size());
  for (std::size_t axis = 0; axis < wanted.size(); ++axis)
    if (wanted[axis].is_constant() && updates.dims[axis].is_constant() &&
        wanted[axis] != updates.dims[axis])
      return invalid_model("updates has size {} on axis {}, not {}", updates.dims[axis].value(),
                           axis, wanted[axis].value());
  return {};
}

Expected<void> infer(ir::InferCtx& ctx) {
  const Type &data = ctx.in(0), &indices = ctx.in(1);
  SCANLOOM_CHECK_OK(check_reduction(ctx.attr(kReduction).text(), data.dtype));
  if (data.ranked && data.rank() < 1) return invalid_model("data has no axes");
  if (indices.ranked && indices.rank() < 1) return invalid_model("indices has no axes");
  SCANLOOM_CHECK_OK(check_updates(ctx));
  ctx.set(0, data);
  return {};
}

template <class T>
void update_block(Reduction reduction, std::span<const std::int64_t> block, T* there,
                  const std::int64_t* strides, const T* updates,
                  const std::int64_t* update_strides) {
  tensor::for_each_element<2>(block, {strides, update_strides}, [&](const auto& at) {
    const T update = updates[at[1]];
    there[at[0]] = reduction == Reduction::none ? update : combine(reduction, there[at[0]], update);
  });
}

template <class T>
tensor::Status scatter(const tensor::Call& call, Reduction reduction) {
  const Operand &indices = call.in(1), &updates = call.in(2), &y = call.out(0);
  // Tuples without indices cannot be out of range.
  if (updates.empty() && indices.empty()) return tensor::Status::ok;
  const int outer = indices.rank - 1;
  const auto length = static_cast<int>(indices.dims[outer]);
  const std::span block(y.dims + length, static_cast<std::size_t>(y.rank - length));
  tensor::RowCursor<2> rows({indices.dims, static_cast<std::size_t>(outer)});
  rows.add(indices.strides);
  rows.add(updates.strides);
  for (rows.start(); !rows.done(); rows.next())
    for (std::int64_t i = 0; i < rows.length(); ++i) {
      const TuplePosition position =
          position_of_tuple(indices, rows.offset(0) + i * rows.step(0), y, 0);
      if (position.outside) return call.fail(kIndexOutside, position.index, position.size);
      update_block(reduction, block, y.data<T>() + position.offset, y.strides + length,
                   updates.data<const T>() + rows.offset(1) + i * rows.step(1),
                   updates.strides + outer);
    }
  return tensor::Status::ok;
}

tensor::Status reference(const tensor::Call& call) noexcept {
  if (!tensor::is_same_memory(call.in(0), call.out(0)))
    tensor::copy_in_order(call.in(0), call.out(0));
  const auto reduction = scatter_reduction_of(call.attrs[kReduction].text());
  if (reduction.value_or(Reduction::none) != Reduction::none)
    return tensor::visit_dtype(call.out(0).dtype, [&]<class T>(std::type_identity<T>) {
      return scatter<T>(call, *reduction);
    });
  return tensor::visit_bytes(call.out(0).dtype, [&]<class T>(std::type_identity<T>) {
    return scatter<T>(call, Reduction::none);
  });
}

Expected<int> steps(const ir::StepSite& s) {
  const auto length = tuple_length(s);
  if (!length) return across("the length of its indices is not known");
  const bool updates = s.along(kDataOperand) && s.along(kUpdateOperand) && !s.along(kIndexOperand);
  if (!updates || s.axis(kDataOperand) < *length)
    return across("it writes elements of other steps");
  if (s.axis(kUpdateOperand) != s.type(kIndexOperand).rank() - 1 + s.axis(kDataOperand) - *length)
    return across("its operands have the steps on other axes");
  return s.axis(kDataOperand);
}

}  // namespace scatter_nd
}  // namespace

constinit const ir::OpDef scatter_nd_op{
    .name = "scatter_nd",
    .doc =
        "data, with each slice of updates written where a tuple of indices along the last axis of "
        "indices points; negative ones count from the back. `reduction` is none, add, mul, max or "
        "min; among several updates of one element without reduction the last one wins.",
    .inputs = {{"data", ir::Accept::tensor},
               {"indices", ir::Accept::index},
               {.name = "updates", .accept = ir::Accept::tensor, .same_as = 0}},
    .outputs = {"y"},
    .attrs = {{"reduction", tensor::AttrKind::text}},
    .effects = ir::Effects::may_fail,
    .infer = scatter_nd::infer,
    .reference = scatter_nd::reference,
    .writes_part = true,
    .steps = {.axis = scatter_nd::steps, .any_operand = true},
};

}  // namespace scanloom::ops
