#include <algorithm>
#include <limits>

#include "ops/ops.h"
#include "ops/sequence/objects.h"
#include "tensor/rows.h"

namespace scanloom::ops {
namespace {
namespace sequence_split {

using tensor::Dim;
using tensor::ObjectCall;
using tensor::ObjectRef;
using tensor::Tensor;
using tensor::Type;

constexpr int kSizes = 1;
constexpr int kAxis = 0;
constexpr int kKeepDims = 1;

Expected<void> infer(ir::InferCtx& ctx) {
  Type part = ctx.in(0);
  if (part.ranked) {
    SCANLOOM_TRY(const int axis, ctx.axis(ctx.attr(kAxis).integer(), part.rank()));
    if (ctx.has(kSizes))
      part.dims[static_cast<std::size_t>(axis)] = ctx.dims().fresh();
    else if (ctx.attr(kKeepDims).integer() != 0)
      part.dims[static_cast<std::size_t>(axis)] = 1;
    else
      part.dims.erase(part.dims.begin() + axis);
  }
  SCANLOOM_TRY(Type sequence, wrapped(part, tensor::Wrap::sequence, ctx.dims()));
  ctx.set(0, std::move(sequence));
  return {};
}

Expected<void> check_sizes(std::span<const std::int64_t> sizes, std::int64_t whole) {
  std::int64_t sum = 0;
  for (const std::int64_t size : sizes) {
    if (size < 0)
      return fail(Code::invalid_argument, "a part has size {}, but must have at least 0", size);
    if (__builtin_add_overflow(sum, size, &sum)) sum = std::numeric_limits<std::int64_t>::max();
  }
  if (sum != whole)
    return fail(Code::invalid_argument, "the parts have {} elements, but the axis has {}", sum,
                whole);
  return {};
}

/// Appends the elements [first, first + part) of the axis as an item.
Expected<void> add_part(const ObjectCall& call, ObjectRef& sequence, int axis, std::int64_t first,
                        std::int64_t part, bool squeeze) {
  SCANLOOM_CHECK_OK(call.memory.check(tensor::bytes_of_slice(call.tensor(0), axis, first, part)));
  SCANLOOM_TRY(Tensor made, tensor::slice(call.tensor(0), axis, first, part, squeeze));
  SCANLOOM_TRY(ObjectRef item, call.object(std::move(made)));
  sequence->push_back(std::move(item));
  return call.memory.count(*sequence);
}

Expected<void> run_objects(const ObjectCall& call) {
  const tensor::Shape& shape = call.tensor(0).shape();
  const auto axis = tensor::normalise_axis(call.attrs[kAxis].integer(), shape.rank());
  if (!axis)
    return fail(Code::invalid_argument, "axis {} is outside [{}, {})", call.attrs[kAxis].integer(),
                -shape.rank(), shape.rank());
  const std::int64_t whole = shape[*axis];
  ObjectRef sequence = ObjectRef::sequence(call.tensor(0).dtype());
  if (call.has(kSizes) && call.tensor(kSizes).shape().rank() > 0) {
    const std::vector<std::int64_t> sizes = *to_integers(call.tensor(kSizes));
    SCANLOOM_CHECK_OK(check_sizes(sizes, whole));
    std::int64_t first = 0;
    for (const std::int64_t size : sizes) {
      SCANLOOM_CHECK_OK(add_part(call, sequence, *axis, first, size, false));
      first += size;
    }
    return call.give(0, std::move(sequence));
  }
  std::int64_t size = 1;
  if (call.has(kSizes)) {
    SCANLOOM_TRY(size, single_integer(call.tensor(kSizes), "the size of the parts"));
  }
  if (size < 1)
    return fail(Code::invalid_argument, "parts of size {}, but at least 1 is needed", size);
  const bool squeeze = !call.has(kSizes) && call.attrs[kKeepDims].integer() == 0;
  for (std::int64_t left = whole; left > 0; left -= std::min(size, left))
    SCANLOOM_CHECK_OK(add_part(call, sequence, *axis, whole - left, std::min(size, left), squeeze));
  return call.give(0, std::move(sequence));
}

}  // namespace sequence_split
}  // namespace

constinit const ir::OpDef sequence_split_op{
    .name = "sequence_split",
    .doc =
        "The parts of x along `axis`: of the sizes in a list, or all of one size except the last, "
        "which may be smaller; without sizes of size 1, the axis dropped unless `keepdims`.",
    .inputs = {{"x", ir::Accept::tensor}, {"sizes", ir::Accept::index, ir::Arity::optional}},
    .outputs = {"sequence"},
    .attrs = {{"axis", tensor::AttrKind::integer}, {"keepdims", tensor::AttrKind::integer}},
    .effects = ir::Effects::may_fail,
    .infer = sequence_split::infer,
    .run_objects = sequence_split::run_objects,
};

}  // namespace scanloom::ops
