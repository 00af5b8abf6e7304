// copy: copies a tensor to another address and layout. The input has the output's shape, or
// broadcasts to it; if one of them is contiguous, elements in the same order may have another
// shape.
#include <cstring>
#include <memory>

#include "kernels/copy_plan.h"
#include "kernels/kernel.h"
#include "tensor/for_each.h"

namespace scanloom::kernels {
namespace {
namespace copy {

using tensor::Call;
using tensor::Operand;
using tensor::Status;

Status run_plan(const Call& call) noexcept {
  run_copy(*static_cast<const CopyPlan*>(call.prepared), call.in(0).data<const std::byte>(),
           call.out(0).data<std::byte>(), call);
  return call.ok_or_stopped();
}

Status run_whole(const Call& call) noexcept {
  std::memcpy(call.out(0).data<std::byte>(), call.in(0).data<const std::byte>(),
              *static_cast<const std::size_t*>(call.prepared));
  return Status::ok;
}

std::span<const std::int64_t> dims_of(const Operand& operand) {
  return {operand.dims, static_cast<std::size_t>(operand.rank)};
}

Prepared prepare(const PrepareCtx& ctx) {
  if (ctx.inputs.empty() || ctx.outputs.size() != 1) return Prepared::no("not one result");
  const Operand& from = ctx.inputs[0];
  const Operand& to = ctx.outputs[0];
  if (from.dtype != to.dtype) return Prepared::no("changes the element type");
  const std::size_t bytes = dtype_bytes(to.dtype);
  const std::int64_t count = to.elements();
  const bool is_whole = from.contiguous && to.contiguous && from.elements() == count;
  if (is_whole && count * static_cast<std::int64_t>(bytes) < kMinThreadedCopy)
    return {.state = std::make_shared<const std::size_t>(static_cast<std::size_t>(count) * bytes),
            .run = run_whole};
  const auto plan_for = [&](std::span<const std::int64_t> dims, const std::int64_t* from_strides,
                            const std::int64_t* to_strides) -> Prepared {
    return {.state = std::make_shared<const CopyPlan>(
                plan_copy(dims, from_strides, to_strides, static_cast<int>(bytes), ctx.isa)),
            .run = run_plan};
  };
  if (is_whole) {
    constexpr std::int64_t kAdjacent = 1;
    return plan_for({&count, 1}, &kAdjacent, &kAdjacent);
  }
  // Elements that keep their order may have other sizes where either operand is contiguous.
  const bool reshapes = from.shape() != to.shape() && from.elements() == to.elements();
  if (reshapes && to.contiguous)
    return plan_for(dims_of(from), from.strides, tensor::contiguous_strides(from.shape()).data());
  if (reshapes && from.contiguous)
    return plan_for(dims_of(to), tensor::contiguous_strides(to.shape()).data(), to.strides);
  const auto result = tensor::broadcast(from.shape(), to.shape());
  if (!result || *result != to.shape()) return Prepared::no("sizes differ");
  const tensor::Shape strides =
      tensor::broadcast_strides(dims_of(from), {from.strides, dims_of(from).size()}, dims_of(to));
  return plan_for(dims_of(to), strides.data(), to.strides);
}

}  // namespace copy
}  // namespace

extern constinit const KernelDef copy_kernel{
    .name = "copy",
    .doc =
        "Copies elements between any two layouts: runs of neighbours at once, transposes in "
        "blocks.",
    .prepare = copy::prepare,
    .run = copy::run_plan,
};

}  // namespace scanloom::kernels
