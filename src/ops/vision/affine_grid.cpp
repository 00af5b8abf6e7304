// Coordinate i of n is -1 + (2 i + 1) / n, or with aligned corners -1 + 2 i / (n - 1), in f64. The
// product with theta is summed over its columns in order, in f64, and rounded once.
#include "ops/indices.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "tensor/for_each.h"
#include "tensor/visit.h"

namespace scanloom::ops {
namespace {
namespace affine_grid {

using tensor::Dim;
using tensor::Operand;
using tensor::Shape;
using tensor::Type;

constexpr int kSize = 1;
constexpr int kAlignCorners = 0;

// size: batch, channels, two or three spatial sizes.
Expected<void> infer(ir::InferCtx& ctx) {
  const Type& theta = ctx.in(0);
  SCANLOOM_CHECK_OK(check_list(ctx, kSize, "size"));
  const std::int64_t count = element_count(ctx, kSize);
  if (count >= 0 && count != 4 && count != 5)
    return invalid_model("size has {} elements, not 4 or 5", count);
  const auto size = ctx.integers(kSize);
  if (theta.ranked && theta.rank() != 3)
    return invalid_model("theta has {} axes, not 3", theta.rank());
  if (count < 0) {
    ctx.set(0, Type::unranked(theta.dtype));
    return {};
  }
  const std::int64_t spatial = count - 2;
  if (theta.ranked)
    for (const std::size_t axis : {std::size_t{1}, std::size_t{2}}) {
      const Dim wanted = spatial + (axis == 2 ? 1 : 0);
      if (theta.dims[axis].is_constant() && theta.dims[axis] != wanted)
        return invalid_model("theta has size {} on axis {}, not {}", theta.dims[axis].value(), axis,
                             wanted.value());
    }
  std::vector<Dim> sizes = {theta.ranked ? theta.dims[0] : ctx.dims().fresh()};
  if (size) {
    SCANLOOM_TRY(sizes[0], same_size(ctx, sizes[0], size->front(), "the batch of theta and size"));
  }
  for (std::int64_t i = 0; i < spatial; ++i)
    sizes.push_back(size ? (*size)[static_cast<std::size_t>(i) + 2] : ctx.dims().fresh());
  sizes.emplace_back(spatial);
  return set_sizes(ctx, 0, theta.dtype, std::move(sizes));
}

double coordinate(std::int64_t i, std::int64_t count, bool align) {
  const auto at = static_cast<double>(i), n = static_cast<double>(count);
  if (!align) return (2 * at + 1) / n - 1;
  return count == 1 ? -1 : 2 * at / (n - 1) - 1;
}

template <class T>
void make_grid(const tensor::Call& call) {
  const Operand &theta = call.in(0), &y = call.out(0);
  const bool align = call.attrs[kAlignCorners].integer() != 0;
  const int spatial = y.rank - 2;
  const std::span positions(y.dims, static_cast<std::size_t>(y.rank - 1));
  tensor::for_each_index(positions, [&](const Shape& index) {
    const T* const matrix = theta.data<const T>() + index[0] * theta.strides[0];
    T* const to = y.data<T>() + tensor::offset_of(index, y.strides);
    for (int row = 0; row < spatial; ++row) {
      double sum = 0;
      // x before y before z: the last axis first, then a 1.
      for (int column = 0; column <= spatial; ++column) {
        const int axis = spatial - column;
        const double at = column == spatial ? 1 : coordinate(index[axis], y.dims[axis], align);
        const T factor = matrix[row * theta.strides[1] + column * theta.strides[2]];
        sum += static_cast<double>(tensor::widen(factor)) * at;
      }
      to[row * y.strides[y.rank - 1]] = tensor::narrow<T>(sum);
    }
  });
}

tensor::Status reference(const tensor::Call& call) noexcept {
  tensor::visit_dtype(call.out(0).dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::floating_point<T> || tensor::SmallFloatType<T>) make_grid<T>(call);
  });
  return tensor::Status::ok;
}

}  // namespace affine_grid
}  // namespace

constinit const ir::OpDef affine_grid_op{
    .name = "affine_grid",
    .doc =
        "The places that the affine maps theta [batch, n, n + 1] move a regular grid of `size` "
        "[batch, channels, ...] to, as grid_sample takes them: from -1 to 1, the ends of an axis, "
        "or with `align_corners` the middles of its outermost elements.",
    .inputs = {{"theta", ir::Accept::real}, {"size", ir::Accept::index}},
    .outputs = {"y"},
    .attrs = {{"align_corners", tensor::AttrKind::integer}},
    .infer = affine_grid::infer,
    .reference = affine_grid::reference,
};

}  // namespace scanloom::ops
