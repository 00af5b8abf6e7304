// The transpose of broadcasting: sums what numpy's rules have repeated. Gradients use it if sizes
// are not known when they are built; once they are, canonicalization replaces it.
#include "ops/ops.h"
#include "ops/sizes.h"
#include "tensor/for_each.h"
#include "tensor/strided_copy.h"
#include "tensor/visit.h"

namespace scanloom::ops {
namespace {
namespace sum_to {

using tensor::Operand;
using tensor::Type;

Expected<void> infer(ir::InferCtx& ctx) {
  SCANLOOM_CHECK_OK(check_list(ctx, 1, "the shape"));
  const Type& x = ctx.in(0);
  const auto sizes = ctx.integers(1);
  const std::int64_t rank = sizes ? std::ssize(*sizes) : element_count(ctx, 1);
  if (x.ranked && rank > x.rank())
    return invalid_model("the shape has {} axes, but x has only {}", rank, x.rank());
  if (!sizes) {
    ctx.set(0, rank < 0 ? Type::unranked(x.dtype) : ctx.fresh(x.dtype, static_cast<int>(rank)));
    return {};
  }
  if (x.ranked) {
    const std::size_t extra = x.dims.size() - sizes->size();
    for (std::size_t i = 0; i < sizes->size(); ++i) {
      const tensor::Dim from = x.dims[i + extra], to = (*sizes)[i];
      if (from.is_constant() && to.is_constant() && from != to && to != tensor::Dim(1))
        return invalid_model("axis {} of x has {} elements, which do not add up to {}", i + extra,
                             from.value(), to.value());
    }
  }
  return set_sizes(ctx, 0, x.dtype, *sizes);
}

/// Adds in row-major order of x; integers wrap.
template <class T>
void add_up(const Operand& x, const Operand& y) {
  const int extra = x.rank - y.rank;
  tensor::for_each_index(x.shape().dims(), [&](const tensor::Shape& index) {
    std::int64_t from = 0, to = 0;
    for (int axis = 0; axis < x.rank; ++axis) {
      from += index[axis] * x.strides[axis];
      if (axis >= extra && y.dims[axis - extra] != 1) to += index[axis] * y.strides[axis - extra];
    }
    T& total = y.data<T>()[to];
    if constexpr (std::is_integral_v<T>) {
      total = static_cast<T>(static_cast<std::uint64_t>(total) +
                             static_cast<std::uint64_t>(x.data<const T>()[from]));
    } else {
      total = tensor::narrow<T>(tensor::widen(total) + tensor::widen(x.data<const T>()[from]));
    }
  });
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const Operand &x = call.in(0), &y = call.out(0);
  for (int axis = 0; axis < y.rank; ++axis) {
    const std::int64_t from = x.dims[axis + x.rank - y.rank];
    if (y.dims[axis] != 1 && y.dims[axis] != from)
      return call.fail("{} elements along an axis do not add up to {}", from, y.dims[axis]);
  }
  constexpr std::byte kZero[16] = {};
  tensor::fill(y, kZero);
  tensor::visit_dtype(y.dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (tensor::RealOrInteger<T>) add_up<T>(x, y);
  });
  return tensor::Status::ok;
}

}  // namespace sum_to
}  // namespace

constinit const ir::OpDef sum_to_op{
    .name = "sum_to",
    .doc =
        "x added up to that shape, from which broadcasting makes the shape of x: over the axes "
        "that the shape lacks in front, and over those of size 1 there.",
    .inputs = {{"x", ir::Accept::numeric},
               {.name = "shape", .accept = ir::Accept::index, .decides_sizes = true}},
    .outputs = {"y"},
    .infer = sum_to::infer,
    .reference = sum_to::reference,
};

}  // namespace scanloom::ops
