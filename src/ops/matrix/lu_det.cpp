// Multiplies the pivots in order from 1, negated first if the number of row exchanges is odd.
#include <cmath>

#include "base/math/math.h"
#include "ops/matrix/matrices.h"
#include "ops/ops.h"
#include "ops/sizes.h"

namespace scanloom::ops {
namespace {
namespace lu_det {

using tensor::Operand;
using tensor::Type;

Expected<void> infer(ir::InferCtx& ctx) {
  SCANLOOM_CHECK_OK(check_square(ctx, 0, "lu"));
  SCANLOOM_CHECK_OK(check_pivots(ctx, 0, 1));
  const Type& lu = ctx.in(0);
  for (int i = 0; i < 3; ++i) {
    if (lu.ranked)
      SCANLOOM_CHECK_OK(set_sizes(ctx, i, lu.dtype, {lu.dims.begin(), lu.dims.end() - 2}));
    else
      ctx.set(i, Type::unranked(lu.dtype));
  }
  return {};
}

template <class Real>
struct Determinant {
  Real value = 1, sign = 1, log = 0;
  bool singular = false;

  void exchange() {
    value = -value;
    sign = -sign;
  }
  void multiply(Real pivot) {
    singular |= pivot == 0;
    value *= pivot;
    sign = std::isnan(pivot) ? pivot : pivot < 0 ? -sign : sign;
    log += math::log(std::fabs(pivot));
  }
  void finish() {
    if (singular) *this = {0, 0, -std::numeric_limits<Real>::infinity(), true};
  }
};

template <class Real>
tensor::Status determinants(const tensor::Call& call) {
  const Operand &lu = call.in(0), &pivots = call.in(1);
  const std::int64_t size = lu.dims[lu.rank - 1];
  const std::int64_t step = pivots.strides[pivots.rank - 1];
  const tensor::Batch<5> batch(
      call.out(0), {&call.out(0), &call.out(1), &call.out(2), &lu, &pivots}, {0, 0, 0, 2, 1});
  for (std::int64_t number = 0; number < batch.count(); ++number) {
    const auto at = batch.offsets(number);
    const auto factors = tensor::matrix_of<const Real>(lu, at[3]);
    Determinant<Real> det;
    for (std::int64_t k = 0; k < size; ++k)
      if (pivots.data<const std::int64_t>()[at[4] + k * step] != k) det.exchange();
    for (std::int64_t k = 0; k < size; ++k) det.multiply(factors.at(k, k));
    det.finish();
    call.out(0).data<Real>()[at[0]] = det.value;
    call.out(1).data<Real>()[at[1]] = det.sign;
    call.out(2).data<Real>()[at[2]] = det.log;
  }
  return tensor::Status::ok;
}

tensor::Status reference(const tensor::Call& call) noexcept {
  return visit_real(call.out(0).dtype, [&]<class Real> { return determinants<Real>(call); });
}

}  // namespace lu_det
}  // namespace

constinit const ir::OpDef lu_det_op{
    .name = "lu_det",
    .doc =
        "The determinants of matrices, of which `lu` and `pivots` are the factors, their signs "
        "(0 of singular ones) and the logarithms of their magnitudes. `matrix` is what was "
        "factored, for gradients; it is not read.",
    .inputs = {{"lu", ir::Accept::real},
               {"pivots", ir::Accept::integer},
               {"matrix", ir::Accept::real, ir::Arity::optional, 0}},
    .outputs = {"det", "sign", "log_magnitude"},
    .infer = lu_det::infer,
    .reference = lu_det::reference,
    .steps = {.axis = steps_of_matrices, .any_operand = true},
};

}  // namespace scanloom::ops
