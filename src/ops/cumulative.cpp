#include "ops/cumulative.h"

#include <algorithm>
#include <type_traits>

#include "ops/indices.h"
#include "ops/lines.h"
#include "ops/sizes.h"
#include "tensor/visit.h"

namespace scanloom::ops {
namespace {

using tensor::Operand;

constexpr int kExclusive = 0;
constexpr int kReverse = 1;

// In f32 for narrower reals; integers wrap.
template <class T>
struct TotalOf {
  using type = std::uint64_t;
};
template <class T>
  requires(std::is_floating_point_v<T> || tensor::SmallFloatType<T>)
struct TotalOf<T> {
  using type = decltype(tensor::widen(T{}));
};

/// kProduct: the total is a product, from 1; otherwise a sum, from 0.
template <class T, bool kProduct>
void run_lines(const tensor::Call& call, int axis) {
  using Total = typename TotalOf<T>::type;
  const Operand &x = call.in(0), &y = call.out(0);
  const bool exclusive = call.attrs[kExclusive].integer() != 0;
  const bool reverse = call.attrs[kReverse].integer() != 0;
  const std::int64_t count = x.dims[axis];
  for_each_line<2>(x.shape(), axis, {strides_of(x), strides_of(y)}, [&](const auto& at) {
    Total total = kProduct ? 1 : 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t k = reverse ? count - 1 - i : i;
      T& result = y.data<T>()[at[1] + k * y.strides[axis]];
      if (exclusive) result = tensor::narrow<T>(total);
      const auto value =
          static_cast<Total>(tensor::widen(x.data<const T>()[at[0] + k * x.strides[axis]]));
      total = kProduct ? total * value : total + value;
      if (!exclusive) result = tensor::narrow<T>(total);
    }
  });
}

template <bool kProduct>
tensor::Status run(const tensor::Call& call) {
  const int rank = call.in(0).rank;
  const std::int64_t given = listed_index(call.in(1), 0);
  const auto axis = tensor::normalise_axis(given, rank);
  if (!axis) return call.fail("axis {} is outside the {} axes of x", given, rank);
  tensor::visit_dtype(call.out(0).dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (tensor::RealOrInteger<T>) run_lines<T, kProduct>(call, *axis);
  });
  return tensor::Status::ok;
}

}  // namespace

Expected<void> infer_cumulative(ir::InferCtx& ctx) {
  ctx.set(0, ctx.in(0));
  SCANLOOM_CHECK_OK(check_elements(ctx, 1, 1, "axis"));
  const auto axis = ctx.numbers(1);
  if (axis && axis->size() == 1 && ctx.in(0).ranked)
    SCANLOOM_CHECK_OK(ctx.axis(axis->front(), ctx.in(0).rank()));
  return {};
}

tensor::Status run_cumsum(const tensor::Call& call) noexcept { return run<false>(call); }
tensor::Status run_cumprod(const tensor::Call& call) noexcept { return run<true>(call); }

}  // namespace scanloom::ops
