#include "ops/reduce/softmax_lines.h"

#include <functional>

#include "base/math/math.h"
#include "opmath/reduction.h"
#include "ops/indices.h"
#include "ops/lines.h"
#include "tensor/paced_poll.h"
#include "tensor/scalar_arith.h"
#include "tensor/visit.h"

namespace scanloom::ops {
namespace {

using tensor::Call;
using tensor::Operand;

constexpr int kLineAxis = 0;

template <class T, bool kLogarithm>
void normalise(const T* x, std::int64_t x_step, T* y, std::int64_t y_step, std::int64_t count) {
  using Real = decltype(tensor::widen(T{}));
  if (count == 0) return;
  Real greatest = tensor::widen(x[0]);
  for (std::int64_t i = 1; i < count; ++i)
    greatest = tensor::arith::maximum<Real>(greatest, tensor::widen(x[i * x_step]));
  tensor::OrderedSum<Real> exponentials(count);
  for (std::int64_t i = 0; i < count; ++i)
    exponentials.add(math::exp(tensor::widen(x[i * x_step]) - greatest), std::plus());
  const Real sum = exponentials.total(std::plus());
  const Real log_or_inverse = kLogarithm ? math::log(sum) : Real{1} / sum;
  for (std::int64_t i = 0; i < count; ++i) {
    const Real shifted = tensor::widen(x[i * x_step]) - greatest;
    y[i * y_step] = tensor::narrow<T>(kLogarithm ? shifted - log_or_inverse
                                                 : math::exp(shifted) * log_or_inverse);
  }
}

template <bool kLogarithm>
tensor::Status normalise_lines(const Call& call) noexcept {
  const Operand &x = call.in(0), &y = call.out(0);
  const int axis = checked_axis(call.attrs[kLineAxis], x.rank);
  tensor::PacedPoll poll(call);
  tensor::visit_dtype(y.dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::floating_point<T> || tensor::SmallFloatType<T>)
      for_each_line<2>(x.shape(), axis, {strides_of(x), strides_of(y)}, [&](const auto& at) {
        if (poll.stops(4 * x.dims[axis])) return;
        normalise<T, kLogarithm>(x.data<const T>() + at[0], x.strides[axis], y.data<T>() + at[1],
                                 y.strides[axis], x.dims[axis]);
      });
  });
  return call.ok_or_stopped();
}

}  // namespace

Expected<void> infer_softmax(ir::InferCtx& ctx) {
  if (ctx.in(0).ranked)
    SCANLOOM_CHECK_OK(ctx.axis(ctx.attr(kLineAxis).integer(), ctx.in(0).rank()));
  ctx.set(0, ctx.in(0));
  return {};
}

tensor::Status run_softmax(const Call& call) noexcept { return normalise_lines<false>(call); }
tensor::Status run_log_softmax(const Call& call) noexcept { return normalise_lines<true>(call); }

}  // namespace scanloom::ops
