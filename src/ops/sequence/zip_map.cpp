#include "ops/ops.h"
#include "ops/sequence/objects.h"

namespace scanloom::ops {
namespace {
namespace zip_map {

using tensor::ObjectRef;
using tensor::Tensor;
using tensor::Type;

constexpr int kKeys = 0;

Expected<void> infer(ir::InferCtx& ctx) {
  const Tensor& keys = ctx.attr(kKeys).tensor();
  if ((keys.dtype() != DType::i64 && keys.dtype() != DType::string) || keys.shape().rank() != 1)
    return invalid_model("the keys are {}{}, but must be i64 or string with 1 axis",
                         dtype_name(keys.dtype()), keys.shape().to_string());
  const Type& x = ctx.in(0);
  if (x.ranked && x.rank() != 1 && x.rank() != 2)
    return invalid_model("x has {} axes, but must have 1 or 2", x.rank());
  if (x.ranked && x.dims.back().is_constant() && x.dims.back().value() != keys.elements())
    return invalid_model("rows of x have {} values for {} keys", x.dims.back().value(),
                         keys.elements());
  Type maps = Type::of(x.dtype, {tensor::Dim(keys.elements())});
  maps.wraps = {tensor::Wrap::sequence, tensor::map_from(keys.dtype())};
  ctx.set(0, std::move(maps));
  return {};
}

Expected<void> run_objects(const tensor::ObjectCall& call) {
  const Tensor& keys = call.attrs[kKeys].tensor();
  SCANLOOM_TRY(const ObjectRef held, call.take(0));
  const Tensor& x = held->tensor();
  const int rank = x.shape().rank();
  if (rank != 1 && rank != 2)
    return fail(Code::invalid_argument, "x has {} axes, but must have 1 or 2", rank);
  if (x.shape()[rank - 1] != keys.elements())
    return fail(Code::invalid_argument, "rows of x have {} values for {} keys", x.shape()[rank - 1],
                keys.elements());
  // All maps share the keys, and their values are the rows of x.
  SCANLOOM_TRY(const ObjectRef shared, call.object(keys));
  const std::int64_t rows = rank == 2 ? x.shape()[0] : 1;
  SCANLOOM_CHECK_OK(call.memory.check(rows * std::int64_t{2 * sizeof(tensor::Object)}));
  const std::size_t bytes = static_cast<std::size_t>(keys.elements()) * dtype_bytes(x.dtype());
  ObjectRef maps = ObjectRef::sequence(x.dtype());
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto* const from =
        static_cast<const std::byte*>(x.data()) + static_cast<std::size_t>(row) * bytes;
    maps->push_back(ObjectRef::map(
        shared, ObjectRef::of(Tensor(x.dtype(), {keys.elements()}, x.owner(), from))));
  }
  return call.give(0, std::move(maps));
}

}  // namespace zip_map
}  // namespace

constinit const ir::OpDef zip_map_op{
    .name = "zip_map",
    .doc = "A sequence of maps, one per row of x, from each key to the value in its column.",
    .inputs = {{"x", ir::Accept::tensor}},
    .outputs = {"maps"},
    .attrs = {{"keys", tensor::AttrKind::tensor}},
    .effects = ir::Effects::may_fail,
    .infer = zip_map::infer,
    .run_objects = zip_map::run_objects,
};

}  // namespace scanloom::ops
