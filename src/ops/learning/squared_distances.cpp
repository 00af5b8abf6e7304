#include <algorithm>
#include <array>

#include "ops/matrix/matrices.h"
#include "ops/ops.h"

namespace scanloom::ops {
namespace {
namespace squared_distances {

using tensor::Operand;
using tensor::Type;

Expected<void> check_points(const Type& type, std::string_view name) {
  if (type.dtype != DType::f32 && type.dtype != DType::f64)
    return fail(Code::unsupported, "{} is {}, but must be f32 or f64", name,
                dtype_name(type.dtype));
  if (!type.ranked || type.rank() == 2) return {};
  return invalid_model("{} has {} {}, but must have 2", name, type.rank(),
                       type.rank() == 1 ? "axis" : "axes");
}

Expected<void> infer(ir::InferCtx& ctx) {
  const Type &a = ctx.in(0), &b = ctx.in(1);
  SCANLOOM_CHECK_OK(check_points(a, "a"));
  SCANLOOM_CHECK_OK(check_points(b, "b"));
  if (a.ranked && b.ranked && a.dims[1].is_constant() && b.dims[1].is_constant() &&
      a.dims[1] != b.dims[1])
    return invalid_model("the points of a have {} coordinates, those of b have {}",
                         a.dims[1].value(), b.dims[1].value());
  ctx.set(0, a.dtype,
          {a.ranked ? a.dims[0] : ctx.dims().fresh(), b.ranked ? b.dims[0] : ctx.dims().fresh()});
  return {};
}

/// Rows of b of a block, whose sums do not wait for each other, and coordinates of these at a time.
constexpr std::int64_t kLanes = 16, kCoordinates = 128;

/// Some coordinates of the rows of a block, coordinate by coordinate. Rows that are missing hold
/// any number, which reaches no result.
template <class Real>
using Block = std::array<Real, static_cast<std::size_t>(kLanes* kCoordinates)>;

template <class Real>
void fill(Block<Real>& block, const Operand& b, std::int64_t first, std::int64_t rows,
          std::int64_t first_coordinate, std::int64_t coordinates) {
  const Real* const from =
      b.data<const Real>() + first * b.strides[0] + first_coordinate * b.strides[1];
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t k = 0; k < coordinates; ++k)
      block[static_cast<std::size_t>(k * kLanes + i)] = from[i * b.strides[0] + k * b.strides[1]];
}

/// Adds the squares of differences in some coordinates to the sums of a row of a.
template <class Real>
void add_squares(const Real* a, std::int64_t step, std::int64_t coordinates,
                 const Block<Real>& block, std::array<Real, kLanes>& sums) {
  std::array<Real, kLanes> added = sums;  // stays in registers
  const Real* to = block.data();
  for (std::int64_t k = 0; k < coordinates; ++k, to += kLanes)
    for (std::size_t i = 0; i < added.size(); ++i) {
      const Real difference = a[k * step] - to[i];
      added[i] += difference * difference;
    }
  sums = added;
}

tensor::Status reference(const tensor::Call& call) noexcept {
  return visit_real(call.out(0).dtype, [&]<class Real> {
    const Operand &a = call.in(0), &b = call.in(1), &y = call.out(0);
    const std::int64_t all = a.dims[1];
    if (all != b.dims[1])
      return call.fail("the points of a have {} coordinates, those of b have {}", all, b.dims[1]);
    Block<Real> block{};
    for (std::int64_t first = 0; first < y.dims[1]; first += kLanes) {
      const std::int64_t count = std::min(kLanes, y.dims[1] - first);
      // y holds the sums of the coordinates before; at least once, as there may be none.
      for (std::int64_t k = 0; k == 0 || k < all; k += kCoordinates) {
        const std::int64_t coordinates = std::min(kCoordinates, all - k);
        fill(block, b, first, count, k, coordinates);
        for (std::int64_t row = 0; row < y.dims[0]; ++row) {
          const auto to = [&](std::int64_t i) -> Real& {
            return y.data<Real>()[row * y.strides[0] + (first + i) * y.strides[1]];
          };
          std::array<Real, kLanes> sums{};
          for (std::int64_t i = 0; k > 0 && i < count; ++i)
            sums[static_cast<std::size_t>(i)] = to(i);
          const Real* const from = a.data<const Real>() + row * a.strides[0] + k * a.strides[1];
          add_squares(from, a.strides[1], coordinates, block, sums);
          for (std::int64_t i = 0; i < count; ++i) to(i) = sums[static_cast<std::size_t>(i)];
        }
      }
    }
    return tensor::Status::ok;
  });
}

double products(const ir::CostCtx& ctx) { return ctx.results() * ctx.size(0, 1); }

}  // namespace squared_distances
}  // namespace

constinit const ir::OpDef squared_distances_op{
    .name = "squared_distances",
    .doc =
        "The squared Euclidean distance of every row of a from every row of b: y[i, j] is the sum "
        "of (a[i, k] - b[j, k])^2, in the order of k.",
    .inputs = {{"a", ir::Accept::real}, {"b", ir::Accept::real, ir::Arity::one, 0}},
    .outputs = {"y"},
    .effects = ir::Effects::may_fail,
    .infer = squared_distances::infer,
    .reference = squared_distances::reference,
    .recompute = ir::Recompute::expensive,
    .products = squared_distances::products,
};

}  // namespace scanloom::ops
