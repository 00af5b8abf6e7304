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

/// Several distances at a time, because each sum has to wait for itself.
constexpr std::int64_t kLanes = 8;

template <class Real>
void distances(const Operand& a, std::int64_t row, const Operand& b, std::int64_t first,
               std::int64_t count, std::array<Real, kLanes>& sums) {
  sums.fill(0);
  const Real* const from = a.data<const Real>() + row * a.strides[0];
  const Real* const to = b.data<const Real>() + first * b.strides[0];
  for (std::int64_t k = 0; k < a.dims[1]; ++k) {
    const Real here = from[k * a.strides[1]];
    for (std::int64_t i = 0; i < count; ++i) {
      const Real difference = here - to[i * b.strides[0] + k * b.strides[1]];
      sums[static_cast<std::size_t>(i)] += difference * difference;
    }
  }
}

tensor::Status reference(const tensor::Call& call) noexcept {
  return visit_real(call.out(0).dtype, [&]<class Real> {
    const Operand &a = call.in(0), &b = call.in(1), &y = call.out(0);
    if (a.dims[1] != b.dims[1])
      return call.fail("the points of a have {} coordinates, those of b have {}", a.dims[1],
                       b.dims[1]);
    std::array<Real, kLanes> sums;
    for (std::int64_t row = 0; row < y.dims[0]; ++row)
      for (std::int64_t first = 0; first < y.dims[1]; first += kLanes) {
        const std::int64_t count = std::min(kLanes, y.dims[1] - first);
        if (count == kLanes)
          distances<Real>(a, row, b, first, kLanes, sums);
        else
          distances<Real>(a, row, b, first, count, sums);
        for (std::int64_t i = 0; i < count; ++i)
          y.data<Real>()[row * y.strides[0] + (first + i) * y.strides[1]] =
              sums[static_cast<std::size_t>(i)];
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
