// A window is summed in row-major order, from 0. f16 and bf16 are summed in f32, divided, and
// rounded once. A window of nothing but padding gives 0 / 0.
#include <cmath>

#include "ops/conv_pool/pool_windows.h"
#include "ops/conv_pool/window_rules.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "tensor/paced_poll.h"
#include "tensor/visit.h"

namespace scanloom::ops {
namespace {
namespace average_pool {

using tensor::Operand;

Expected<void> infer(ir::InferCtx& ctx) {
  SCANLOOM_TRY(tensor::Type y, pooled_type(ctx));
  if (!y.ranked) {
    ctx.set(0, std::move(y));
    return {};
  }
  return set_sizes(ctx, 0, y.dtype, std::move(y.dims));
}

template <class T>
void average(const tensor::Call& call, const PoolGeometry& geometry) {
  using Sum = decltype(tensor::widen(T{}));
  const Operand &x = call.in(0), &y = call.out(0);
  const bool with_padding = call.attrs[kPoolOwn].integer() != 0;
  const std::int64_t window_size = elements_of_window(geometry);
  tensor::PacedPoll poll(call);
  tensor::for_each_window<1>(
      geometry, x, {&y},
      [&](std::int64_t plane, const auto& at, const tensor::Shape& position,
          const PoolWindow& window) {
        if (poll.stops(window_size)) return;
        const T* const from = x.data<const T>() + plane;
        Sum sum = 0;
        tensor::for_each_tap(geometry, x, window,
                             [&](std::int64_t i) { sum += tensor::widen(from[i]); });
        const double count = tensor::averaged_elements(geometry, position, with_padding);
        y.data<T>()[at[0]] = tensor::narrow<T>(sum / static_cast<Sum>(count));
      });
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const auto geometry =
      pool_geometry(call.in(0).shape(), {call.attrs, average_pool_op.attrs.size()});
  if (!geometry) return call.fail("the operands do not fit the attributes");
  tensor::visit_dtype(call.out(0).dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::floating_point<T> || tensor::SmallFloatType<T>) average<T>(call, *geometry);
  });
  return call.ok_or_stopped();
}

}  // namespace average_pool
}  // namespace

constinit const ir::OpDef average_pool_op{
    .name = "average_pool",
    .doc =
        "The mean of every window over the axes after the first two of x, of the elements of x "
        "alone or with `count_include_pad` of the padding too. auto_pad is explicit (by `pads`, "
        "first all begins, then all ends), same_upper, same_lower or valid.",
    .inputs = {{"x", ir::Accept::real}},
    .outputs = {"y"},
    .attrs = pool_attrs("count_include_pad", tensor::AttrKind::integer),
    .infer = average_pool::infer,
    .reference = average_pool::reference,
    .batching = ir::Batching::call,
    .products = products_of_pool,
    .steps = {.axis = steps_of_pool},
    .lifting = kLiftWindows,
};

}  // namespace scanloom::ops
