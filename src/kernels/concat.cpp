// concat: copies every input to its part of the result, as planned at binding.
#include <memory>
#include <vector>

#include "kernels/copy_plan.h"
#include "kernels/kernel.h"

namespace scanloom::kernels {
namespace {

using tensor::Call;
using tensor::Operand;
using tensor::Status;

struct Part {
  CopyPlan plan;
  std::int64_t offset = 0;  ///< in bytes, within the result
};

Status run(const Call& call) noexcept {
  const auto& parts = *static_cast<const std::vector<Part>*>(call.prepared);
  std::byte* const to = call.out(0).data<std::byte>();
  for (std::size_t i = 0; i < parts.size(); ++i)
    run_copy(parts[i].plan, call.in(static_cast<int>(i)).data<const std::byte>(),
             to + parts[i].offset, call.max_threads);
  return Status::ok;
}

Prepared prepare(const PrepareCtx& ctx) {
  const Operand& to = ctx.outputs[0];
  const std::int64_t given = ctx.attrs[0].integer();
  const std::int64_t axis = given < 0 ? given + to.rank : given;
  const auto bytes = static_cast<std::int64_t>(dtype_bytes(to.dtype));
  auto parts = std::make_shared<std::vector<Part>>();
  std::int64_t done = 0;
  for (const Operand& from : ctx.inputs) {
    parts->push_back({plan_copy({from.dims, static_cast<std::size_t>(from.rank)}, from.strides,
                                to.strides, static_cast<int>(bytes), ctx.isa),
                      done * to.strides[axis] * bytes});
    done += from.dims[axis];
  }
  return {.state = std::move(parts)};
}

}  // namespace

extern constinit const KernelDef concat_kernel{
    .name = "concat",
    .doc = "Copies of the inputs, runs of neighbours at once.",
    .prepare = prepare,
    .run = run,
};

}  // namespace scanloom::kernels
