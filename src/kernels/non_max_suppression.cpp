// non_max_suppression where the number of boxes that are kept is known (opmath/box_selection.h).
#include "kernels/kernel.h"
#include "opmath/box_selection.h"

namespace scanloom::kernels {
namespace {

using tensor::Call;
using tensor::Operand;
using tensor::Status;

constexpr int kBoxes = 0;
constexpr std::int64_t kMaxBoxes = std::int64_t{1} << 32;

Status run_selection(const Call& call) noexcept {
  const BoxCandidates all = BoxCandidates::of(call);
  const Operand& y = call.out(0);
  std::int64_t *row = y.data<std::int64_t>(), kept = 0;
  std::int64_t* const per_box = call.out(1).data<std::int64_t>();
  const std::int64_t step = call.out(1).strides[0];
  for (std::int64_t i = 0; i < all.count; ++i) per_box[i * step] = 0;
  select_boxes(all, BoxScratch::in(*call.scratch, all.count),
               [&](std::int64_t batch, std::int64_t of_class, std::int64_t box) {
                 if (kept++ >= y.dims[0]) return;
                 row[0] = batch;
                 row[y.strides[1]] = of_class;
                 row[2 * y.strides[1]] = box;
                 row += y.strides[0];
                 ++per_box[box * step];
               });
  return Status::ok;
}

Prepared prepare_selection(const PrepareCtx& ctx) {
  const Operand& boxes = ctx.inputs[kBoxes];
  if (!ctx.outputs[0].present() || !ctx.outputs[1].present())
    return Prepared::no("a result that is not needed");
  if (boxes.dims[1] > kMaxBoxes) return Prepared::no("more than 2^32 boxes");
  return {.scratch_bytes = BoxScratch::bytes(boxes.dims[1])};
}

}  // namespace

extern constinit const KernelDef non_max_suppression_kernel{
    .name = "non_max_suppression",
    .doc = "Best scores sorted in runs; each box is compared with several kept ones at once.",
    .prepare = prepare_selection,
    .run = run_selection,
};

}  // namespace scanloom::kernels
