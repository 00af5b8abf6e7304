#include <algorithm>

#include "ops/lines.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "tensor/strided_copy.h"
#include "tensor/visit.h"

namespace scanloom::ops {
namespace {

using tensor::Dim;
using tensor::Operand;
using tensor::Shape;
using tensor::Type;

constexpr int kShape = 1;
constexpr int kAxes = 0;

Expected<std::vector<int>> resized_axes(const ir::InferCtx& ctx, int rank) {
  if (ctx.attr(kAxes).present()) return normalise_axes(ctx, ctx.attr(kAxes).integers(), rank);
  std::vector<int> axes;
  for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

Expected<void> infer(ir::InferCtx& ctx) {
  const Type& x = ctx.in(0);
  if (!x.ranked) {
    ctx.set(0, x);
    return {};
  }
  SCANLOOM_TRY(const std::vector<int> axes, resized_axes(ctx, x.rank()));
  const std::int64_t count = element_count(ctx, kShape);
  if (count >= 0 && count != static_cast<std::int64_t>(axes.size()))
    return invalid_model("shape has {} elements for {} axes", count, axes.size());
  const auto shape = ctx.integers(kShape);
  std::vector<Dim> sizes = x.dims;
  for (std::size_t i = 0; i < axes.size(); ++i)
    sizes[static_cast<std::size_t>(axes[i])] = shape ? (*shape)[i] : ctx.dims().fresh();
  return set_sizes(ctx, 0, x.dtype, std::move(sizes));
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const Operand &x = call.in(0), &y = call.out(0);
  tensor::visit_bytes(y.dtype, [&]<class T>(std::type_identity<T>) {
    const T zero{};
    tensor::fill(y, reinterpret_cast<const std::byte*>(&zero));
  });
  Shape both = x.shape();
  std::int64_t from = 0, to = 0;
  for (int axis = 0; axis < x.rank; ++axis) {
    both[axis] = std::min(x.dims[axis], y.dims[axis]);
    // What is left over, if odd, is one more at the end.
    from += (x.dims[axis] - both[axis]) / 2 * x.strides[axis];
    to += (y.dims[axis] - both[axis]) / 2 * y.strides[axis];
  }
  tensor::copy_strided(x.dtype, both.dims(), tensor::advance(x.data<std::byte>(), x.dtype, from),
                       x.strides, tensor::advance(y.data<std::byte>(), y.dtype, to), y.strides);
  return tensor::Status::ok;
}

}  // namespace

constinit const ir::OpDef center_crop_pad_op{
    .name = "center_crop_pad",
    .doc =
        "x with the sizes `shape` along `axes` (absent: all of them): its middle where it is "
        "larger, zeros around it where it is smaller.",
    .inputs = {{"x", ir::Accept::tensor}, {"shape", ir::Accept::index}},
    .outputs = {"y"},
    .attrs = {{"axes", tensor::AttrKind::integers, true}},
    .infer = infer,
    .reference = reference,
};

}  // namespace scanloom::ops
