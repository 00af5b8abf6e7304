// affine_scan: blocks of steps in vectors (opmath/affine_scan.h), in the order of the reference.
#include "kernels/kernel.h"
#include "kernels/simd.h"

namespace scanloom::kernels {
namespace {
namespace affine_scan {

using tensor::Call;
using tensor::Status;

template <class T>
using AffineFn = void (*)(const tensor::AffineScan<T>&);

struct AffineScanState {
  AffineFn<float> f32;
  AffineFn<double> f64;
  bool reverse;
};

Status run(const Call& call) noexcept {
  const AffineScanState& state = *static_cast<const AffineScanState*>(call.prepared);
  if (call.out(0).dtype == DType::f32)
    state.f32(tensor::affine_scan_of<float>(call, state.reverse));
  else
    state.f64(tensor::affine_scan_of<double>(call, state.reverse));
  return Status::ok;
}

Prepared prepare(const PrepareCtx& ctx) {
  if (ctx.outputs[0].strides[0] != 1) return Prepared::no("states that are not adjacent in memory");
  for (const int i : {0, 1}) {
    const std::int64_t stride = ctx.inputs[static_cast<std::size_t>(i)].strides[0];
    if (stride != 0 && stride != 1) return Prepared::no("steps that are not adjacent in memory");
  }
  const SimdTables& tables = simd_tables(ctx.isa);
  return {.state = std::make_shared<AffineScanState>(
              AffineScanState{tables.f32_affine, tables.f64_affine, ctx.attrs[0].integer() != 0})};
}

}  // namespace affine_scan
}  // namespace

extern constinit const KernelDef affine_scan_kernel{
    .name = "affine_scan",
    .doc = "Eight steps at a time in vectors, for neighbours in memory.",
    .prepare = affine_scan::prepare,
    .run = affine_scan::run,
};

}  // namespace scanloom::kernels
