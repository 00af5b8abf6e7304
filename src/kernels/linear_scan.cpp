// linear_scan: blocks of steps in vectors, in the order of the reference (opmath/linear_scan.h).
#include "kernels/kernel.h"
#include "kernels/linear_blocks.h"
#include "opmath/linear_call.h"

namespace scanloom::kernels {
namespace {
namespace linear_scan {

using tensor::Call;
using tensor::LinearBlocksFn;
using tensor::Status;

struct LinearScanState {
  LinearBlocksFn<float> f32;
  LinearBlocksFn<double> f64;
};

Status run(const Call& call) noexcept {
  const LinearScanState& state = *static_cast<const LinearScanState*>(call.prepared);
  auto* const scratch =
      call.scratch == nullptr ? nullptr : reinterpret_cast<tensor::LinearState*>(*call.scratch);
  if (call.in(0).dtype == DType::f32)
    return tensor::run_linear_call<float>(call, state.f32, scratch);
  return tensor::run_linear_call<double>(call, state.f64, scratch);
}

Prepared prepare(const PrepareCtx& ctx) {
  const LinearTables& tables = linear_tables(ctx.isa);
  const tensor::Operand& x = ctx.inputs[tensor::LinearInput::x];
  constexpr auto kBytes = static_cast<std::int64_t>(sizeof(tensor::LinearState));
  return {.state = std::make_shared<LinearScanState>(LinearScanState{tables.f32, tables.f64}),
          .scratch_bytes = tensor::linear_scan_scratch(x.dims[x.rank - 1]) * kBytes};
}

}  // namespace linear_scan
}  // namespace

extern constinit const KernelDef linear_scan_kernel{
    .name = "linear_scan",
    .doc = "Blocks of steps in vectors; threads share a long line, or take lines.",
    .prepare = linear_scan::prepare,
    .run = linear_scan::run,
    .leaves_out_unread = true,
};

}  // namespace scanloom::kernels
