#include "ops/ops.h"
#include "ops/sequence/objects.h"
#include "tensor/rows.h"

namespace scanloom::ops {
namespace {
namespace sequence_concat {

using tensor::Dim;
using tensor::ObjectCall;
using tensor::Shape;
using tensor::Tensor;
using tensor::Type;

constexpr int kAxis = 0;
constexpr int kNewAxis = 1;

bool inserts(std::span<const tensor::Attr> attrs) { return attrs[kNewAxis].integer() != 0; }

Expected<void> infer(ir::InferCtx& ctx) {
  if (ctx.in(0).wraps.size() != 1)
    return invalid_model("items must be tensors, but the sequence is {}",
                         to_string(ctx.in(0), ctx.dims()));
  Type joined = any_item(ctx, ctx.in(0));
  if (!joined.ranked) {
    ctx.set(0, std::move(joined));
    return {};
  }
  const bool insert = inserts(ctx.attrs());
  SCANLOOM_TRY(const int axis, ctx.axis(ctx.attr(kAxis).integer(), joined.rank() + insert));
  if (insert)
    joined.dims.insert(joined.dims.begin() + axis, ctx.dims().fresh());
  else
    joined.dims[static_cast<std::size_t>(axis)] = ctx.dims().fresh();
  ctx.set(0, std::move(joined));
  return {};
}

/// Whether an item of that shape can be concatenated with the first one.
bool fits(Shape shape, const Shape& first, int axis, bool insert) {
  if (shape.rank() != first.rank()) return false;
  if (!insert) shape[axis] = first[axis];
  return shape == first;
}

Expected<void> run_objects(const ObjectCall& call) {
  const std::span<const tensor::ObjectRef> items = call.inputs[0]->items();
  if (items.empty())
    return fail(Code::invalid_argument,
                "there is nothing to concatenate: the sequence has 0 items");
  const bool insert = inserts(call.attrs);
  const Shape& first = items[0]->tensor().shape();
  const int rank = first.rank() + insert;
  const auto axis = tensor::normalise_axis(call.attrs[kAxis].integer(), rank);
  if (!axis)
    return fail(Code::invalid_argument, "axis {} is outside [{}, {}) for items of shape {}",
                call.attrs[kAxis].integer(), -rank, rank, first.to_string());
  SCANLOOM_TRY(const auto counted,
               call.memory.hold(static_cast<std::int64_t>(items.size() * sizeof(Tensor))));
  std::vector<Tensor> rows;
  rows.reserve(items.size());
  for (const tensor::ObjectRef& item : items) {
    const Tensor& row = item->tensor();
    if (!fits(row.shape(), first, *axis, insert))
      return fail(Code::invalid_argument, "item {} has shape {}, but item 0 has {}", rows.size(),
                  row.shape().to_string(), first.to_string());
    rows.push_back(row);
  }
  SCANLOOM_CHECK_OK(call.memory.check(tensor::bytes_of_rows(rows)));
  SCANLOOM_TRY(Tensor joined, tensor::join_rows(rows, *axis, insert, false));
  return call.give(0, std::move(joined));
}

}  // namespace sequence_concat
}  // namespace

constinit const ir::OpDef sequence_concat_op{
    .name = "sequence_concat",
    .doc =
        "The items, which are one or more tensors, one after the other along `axis`; with "
        "`new_axis` they are stacked along a new axis.",
    .inputs = {{"sequence", ir::Accept::sequence}},
    .outputs = {"joined"},
    .attrs = {{"axis", tensor::AttrKind::integer}, {"new_axis", tensor::AttrKind::integer}},
    .effects = ir::Effects::may_fail,
    .infer = sequence_concat::infer,
    .run_objects = sequence_concat::run_objects,
};

}  // namespace scanloom::ops
