#include "ops/ops.h"
#include "ops/sizes.h"
#include "tensor/strided_copy.h"

namespace scanloom::ops {
namespace {
namespace check_equal {

constexpr int kText = 0;

// Two different numbers are not an error here: the node may be where it never runs.
Expected<void> infer(ir::InferCtx& ctx) {
  for (int i = 0; i < 2; ++i) {
    const tensor::Type& type = ctx.in(i);
    if (type.dtype != DType::i64 || (type.ranked && type.rank() != 0))
      return invalid_model("input {} is {}, not i64[]", i, to_string(type, ctx.dims()));
  }
  ctx.set(0, tensor::Type::scalar(DType::i64));
  const auto a = ctx.integers(0), b = ctx.integers(1);
  if (!a || a->size() != 1) {
    if (b && b->size() == 1) ctx.set_integers(0, *b);
    return {};
  }
  const bool b_says_more = b && b->size() == 1 && b->front().is_constant();
  ctx.set_integers(0, !a->front().is_constant() && b_says_more ? *b : *a);
  return {};
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const std::int64_t a = *call.in(0).data<const std::int64_t>();
  const std::int64_t b = *call.in(1).data<const std::int64_t>();
  if (a != b) return call.fail(call.attrs[kText].text().c_str(), a, b);
  return tensor::copy_kernel(call);
}

}  // namespace check_equal
}  // namespace

constinit const ir::OpDef check_equal_op{
    .name = "check_equal",
    .doc =
        "a, if it equals b; otherwise the run fails with `text`, in which {} and {} stand for the "
        "two numbers.",
    .inputs = {{"a", ir::Accept::index}, {.name = "b", .accept = ir::Accept::index, .same_as = 0}},
    .outputs = {"a"},
    .attrs = {{"text", tensor::AttrKind::text}},
    .effects = ir::Effects::may_fail,
    .infer = check_equal::infer,
    .reference = check_equal::reference,
    .must_run = true,
};

}  // namespace scanloom::ops
