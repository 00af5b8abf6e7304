// A window is summed in row-major order, from 0. f16 and bf16 are computed in f32 and rounded once.
// Squares are multiplications and their root is correctly rounded; other powers are base/math's.
#include <cmath>

#include "base/math/math.h"
#include "ops/conv_pool/pool_windows.h"
#include "ops/conv_pool/window_rules.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "tensor/paced_poll.h"
#include "tensor/visit.h"

namespace scanloom::ops {
namespace {
namespace lp_pool {

using tensor::Operand;

Expected<void> infer(ir::InferCtx& ctx) {
  const double p = ctx.attr(kPoolOwn).real();
  if (!(p > 0)) return invalid_model("p is {}, but must be above 0", p);
  SCANLOOM_TRY(tensor::Type y, pooled_type(ctx));
  if (!y.ranked) {
    ctx.set(0, std::move(y));
    return {};
  }
  return set_sizes(ctx, 0, y.dtype, std::move(y.dims));
}

template <class Real>
Real power(Real x, Real p) {
  if (p == 1) return x;
  return p == 2 ? x * x : math::pow(x, p);
}

template <class Real>
Real root(Real sum, Real p) {
  if (p == 1) return sum;
  return p == 2 ? std::sqrt(sum) : math::pow(sum, 1 / p);
}

template <class T>
void pool(const tensor::Call& call, const PoolGeometry& geometry) {
  using Real = decltype(tensor::widen(T{}));
  const Operand &x = call.in(0), &y = call.out(0);
  const Real p = static_cast<Real>(call.attrs[kPoolOwn].real());
  const std::int64_t window_size = elements_of_window(geometry);
  tensor::PacedPoll poll(call);
  tensor::for_each_window<1>(
      geometry, x, {&y},
      [&](std::int64_t plane, const auto& at, const tensor::Shape&, const PoolWindow& window) {
        if (poll.stops(window_size)) return;
        const T* const from = x.data<const T>() + plane;
        Real sum = 0;
        tensor::for_each_tap(geometry, x, window, [&](std::int64_t i) {
          sum += power<Real>(std::fabs(tensor::widen(from[i])), p);
        });
        y.data<T>()[at[0]] = tensor::narrow<T>(root<Real>(sum, p));
      });
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const auto geometry = pool_geometry(call.in(0).shape(), {call.attrs, lp_pool_op.attrs.size()});
  if (!geometry) return call.fail("the operands do not fit the attributes");
  tensor::visit_dtype(call.out(0).dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::floating_point<T> || tensor::SmallFloatType<T>) pool<T>(call, *geometry);
  });
  return call.ok_or_stopped();
}

}  // namespace lp_pool
}  // namespace

constinit const ir::OpDef lp_pool_op{
    .name = "lp_pool",
    .doc =
        "The p-norm of every window over the axes after the first two of x. The other attributes "
        "are those of average_pool.",
    .inputs = {{"x", ir::Accept::real}},
    .outputs = {"y"},
    .attrs = pool_attrs("p", tensor::AttrKind::real),
    .infer = lp_pool::infer,
    .reference = lp_pool::reference,
    .batching = ir::Batching::call,
    .products = products_of_pool,
    .steps = {.axis = steps_of_pool},
    .lifting = kLiftWindows,
};

}  // namespace scanloom::ops
