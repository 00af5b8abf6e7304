// Created only by the pass affine_backward: no model format has it, and gradients are taken of the
// loops it replaces.
#include "opmath/affine_scan.h"

#include "ops/matrix/matrices.h"
#include "ops/ops.h"
#include "ops/sizes.h"

namespace scanloom::ops {
namespace {
namespace affine_scan {

constexpr int kReverse = 0;

Expected<void> infer(ir::InferCtx& ctx) {
  const DType dtype = ctx.dtype();
  if (dtype != DType::f32 && dtype != DType::f64)
    return invalid_model("a holds {}, but must hold f32 or f64", dtype_name(dtype));
  tensor::Dim steps = ctx.fresh(dtype, 1).dims[0];
  for (const int i : {0, 1}) {
    const tensor::Type& type = ctx.in(i);
    if (!type.ranked) continue;
    if (type.rank() != 1)
      return invalid_model("{} has {} axes, but must have one", i == 0 ? "a" : "b", type.rank());
    SCANLOOM_TRY(steps, same_size(ctx, type.dims[0], steps, "the axis of a and b"));
  }
  SCANLOOM_CHECK_OK(check_elements(ctx, 2, 1, "initial"));
  return set_sizes(ctx, 0, dtype, {ctx.dims().add(steps, tensor::Dim(1))});
}

tensor::Status reference(const tensor::Call& call) noexcept {
  return visit_real(call.out(0).dtype, [&]<class Real> {
    tensor::run_affine_scan(
        tensor::affine_scan_of<Real>(call, call.attrs[kReverse].integer() != 0));
    return tensor::Status::ok;
  });
}

}  // namespace affine_scan
}  // namespace

constinit const ir::OpDef affine_scan_op{
    .name = "affine_scan",
    .doc =
        "The states of y[t + 1] = a[t] y[t] + b[t] from y[0] = initial on, one more than there are "
        "steps; with `reverse` of y[t] = a[t] y[t + 1] + b[t] from the last on, which is initial. "
        "Steps are composed in blocks, so the last bits differ from those of a loop.",
    .inputs = {{"a", ir::Accept::real},
               {"b", ir::Accept::real, ir::Arity::one, 0},
               {"initial", ir::Accept::real, ir::Arity::one, 0}},
    .outputs = {"y"},
    .attrs = {{"reverse", tensor::AttrKind::integer}},
    .infer = affine_scan::infer,
    .reference = affine_scan::reference,
};

}  // namespace scanloom::ops
