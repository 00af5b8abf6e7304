#include "ops/index/index_steps.h"
#include "ops/index/index_tuples.h"
#include "ops/lines.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "tensor/strided_copy.h"

namespace scanloom::ops {
namespace {
namespace gather_nd {

using tensor::Dim;
using tensor::Operand;
using tensor::Shape;
using tensor::Type;

constexpr int kBatchDims = 0;

Expected<std::vector<Dim>> result_sizes(ir::InferCtx& ctx, int batch, int length) {
  const Type &data = ctx.in(0), &indices = ctx.in(1);
  if (batch + length > data.rank())
    return invalid_model("indices of {} numbers after {} batch axes point into data of {} axes",
                         length, batch, data.rank());
  std::vector<Dim> sizes(indices.dims.begin(), indices.dims.end() - 1);
  for (int axis = 0; axis < batch; ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    SCANLOOM_TRY(sizes[i], same_size(ctx, data.dims[i], indices.dims[i],
                                     fmt::format("axis {} of data and indices", axis)));
  }
  sizes.insert(sizes.end(), data.dims.begin() + batch + length, data.dims.end());
  return sizes;
}

Expected<void> infer(ir::InferCtx& ctx) {
  const Type &data = ctx.in(0), &indices = ctx.in(1);
  const std::int64_t batch = ctx.attr(kBatchDims).integer();
  if (data.ranked && data.rank() < 1) return invalid_model("data has no axes");
  if (indices.ranked && indices.rank() < 1) return invalid_model("indices has no axes");
  for (const Type* type : {&data, &indices})
    if (batch < 0 || (type->ranked && batch >= type->rank()))
      return invalid_model("batch_dims is {}, {} has {} axes", batch,
                           type == &data ? "data" : "indices", type->rank());
  if (!data.ranked || !indices.ranked || !indices.dims.back().is_constant()) {
    ctx.set(0, Type::unranked(data.dtype));
    return {};
  }
  const std::int64_t length = indices.dims.back().value();
  if (length > tensor::kMaxRank)
    return invalid_model("indices has tuples of {} numbers, more than {}", length,
                         tensor::kMaxRank);
  SCANLOOM_TRY(auto sizes, result_sizes(ctx, static_cast<int>(batch), static_cast<int>(length)));
  return set_sizes(ctx, 0, data.dtype, std::move(sizes));
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const Operand &data = call.in(0), &indices = call.in(1), &y = call.out(0);
  const int batch = static_cast<int>(call.attrs[kBatchDims].integer());
  const int outer = indices.rank - 1;
  const int first = batch + static_cast<int>(indices.dims[outer]);
  // Tuples without indices cannot be out of range.
  if (y.empty() && indices.empty()) return tensor::Status::ok;
  // One block per tuple: the axes of data after those that are indexed.
  const auto block_rank = static_cast<std::size_t>(data.rank - first);
  const Shape block(std::span(data.dims + first, block_rank));
  Shape batch_strides = Shape::filled(outer, 0);
  for (int axis = 0; axis < batch; ++axis) batch_strides[axis] = data.strides[axis];

  tensor::RowCursor<3> rows({indices.dims, static_cast<std::size_t>(outer)});
  rows.add(indices.strides);
  rows.add(batch_strides.data());
  rows.add(y.strides);
  for (rows.start(); !rows.done(); rows.next())
    for (std::int64_t i = 0; i < rows.length(); ++i) {
      const TuplePosition position =
          position_of_tuple(indices, rows.offset(0) + i * rows.step(0), data, batch);
      if (position.outside) return call.fail(kIndexOutside, position.index, position.size);
      const std::int64_t from = rows.offset(1) + i * rows.step(1) + position.offset;
      const std::int64_t to = rows.offset(2) + i * rows.step(2);
      tensor::copy_strided(y.dtype, block.dims(),
                           tensor::advance(data.data<std::byte>(), y.dtype, from),
                           data.strides + first, tensor::advance(y.data<std::byte>(), y.dtype, to),
                           y.strides + outer);
    }
  return tensor::Status::ok;
}

Expected<int> steps(const ir::StepSite& s) {
  const int batch = static_cast<int>(attr_of(s.node, "batch_dims").integer());
  const auto length = tuple_length(s);
  if (!length) return across("the length of its indices is not known");
  const int last = s.type(kIndexOperand).rank() - 1;
  if (s.along(kIndexOperand)) {
    const bool in_batch = s.axis(kIndexOperand) < batch;
    if (s.axis(kIndexOperand) == last || s.along(kDataOperand) != in_batch ||
        (in_batch && s.axis(kDataOperand) != s.axis(kIndexOperand)))
      return error_other_steps();
    return s.axis(kIndexOperand);
  }
  if (s.axis(kDataOperand) < batch + *length) return error_selects_steps();
  return last + s.axis(kDataOperand) - batch - *length;
}

}  // namespace gather_nd
}  // namespace

constinit const ir::OpDef gather_nd_op{
    .name = "gather_nd",
    .doc =
        "Slices of data, each picked by a tuple of indices along the last axis of indices, one for "
        "each of the axes after the first `batch_dims`, which both operands have; negative ones "
        "count from the back.",
    .inputs = {{"data", ir::Accept::tensor}, {"indices", ir::Accept::index}},
    .outputs = {"y"},
    .attrs = {{"batch_dims", tensor::AttrKind::integer}},
    .effects = ir::Effects::may_fail,
    .infer = gather_nd::infer,
    .reference = gather_nd::reference,
    .picks = true,
    .steps = {.axis = gather_nd::steps, .any_operand = true},
};

}  // namespace scanloom::ops
