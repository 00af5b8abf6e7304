// NaN counts as the greatest; the first of equal elements of a window wins, in row-major order. A
// window of nothing but padding gives the least value of the type and index -1.
#include <limits>

#include "ops/conv_pool/pool_windows.h"
#include "ops/conv_pool/window_rules.h"
#include "ops/index/element_order.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "tensor/paced_poll.h"

namespace scanloom::ops {
namespace {
namespace max_pool {

using tensor::Operand;
using tensor::PoolAxis;

Expected<void> infer(ir::InferCtx& ctx) {
  const std::int64_t order = ctx.attr(kPoolOwn).integer();
  if (order != 0 && order != 1) return invalid_model("storage_order is {}, not 0 or 1", order);
  SCANLOOM_TRY(tensor::Type y, pooled_type(ctx));
  if (!y.ranked) {
    ctx.set(0, std::move(y));
    ctx.set(1, tensor::Type::unranked(DType::i64));
    return {};
  }
  SCANLOOM_CHECK_OK(set_sizes(ctx, 0, y.dtype, y.dims));
  return set_sizes(ctx, 1, DType::i64, std::move(y.dims));
}

/// Returns the strides of the spatial axes that number elements: row-major, or with the first axis
/// fastest.
std::array<std::int64_t, tensor::kMaxSpatial> numbering(const PoolGeometry& geometry,
                                                        bool first_fastest) {
  std::array<std::int64_t, tensor::kMaxSpatial> strides{};
  std::int64_t stride = 1;
  for (int k = 0; k < geometry.spatial; ++k) {
    const auto axis = static_cast<std::size_t>(first_fastest ? k : geometry.spatial - 1 - k);
    strides[axis] = stride;
    stride *= geometry.axes[axis].in;
  }
  return strides;
}

template <class T>
T least() {
  if constexpr (tensor::SmallFloatType<T>)
    return T::from(-std::numeric_limits<double>::infinity());
  else if constexpr (tensor::SmallIntType<T>)
    return T::from(T::kMin);
  else if constexpr (std::is_floating_point_v<T>)
    return -std::numeric_limits<T>::infinity();
  else
    return std::numeric_limits<T>::min();
}

/// Numbers the elements of a plane by their position in the window.
class Numbers {
 public:
  Numbers(const PoolGeometry& geometry, bool first_fastest)
      : geometry_(geometry), strides_(numbering(geometry, first_fastest)) {
    for (int i = 0; i < geometry.spatial; ++i)
      plane_ *= geometry.axes[static_cast<std::size_t>(i)].in;
  }

  /// Returns the number of the element under the `count`-th of the window's taps.
  [[nodiscard]] std::int64_t number(std::int64_t plane, const tensor::Shape& position,
                                    const PoolWindow& window, std::int64_t count) const {
    std::int64_t result = plane * plane_;
    for (int i = geometry_.spatial - 1; i >= 0; --i) {
      const auto at = static_cast<std::size_t>(i);
      const PoolAxis& axis = geometry_.axes[at];
      const std::int64_t taps = window.taps[at].last - window.taps[at].first;
      const std::int64_t tap = window.taps[at].first + count % taps;
      count /= taps;
      result += (position[i] * axis.stride - axis.pad + tap * axis.dilation) * strides_[at];
    }
    return result;
  }

 private:
  const PoolGeometry& geometry_;
  std::array<std::int64_t, tensor::kMaxSpatial> strides_;
  std::int64_t plane_ = 1;
};

template <class T>
void pool(const tensor::Call& call, const PoolGeometry& geometry) {
  const Operand &x = call.in(0), &y = call.out(0), &indices = call.out(1);
  const Numbers numbers(geometry, call.attrs[kPoolOwn].integer() == 1);
  std::int64_t done = 0, positions = 1;
  for (int i = 0; i < geometry.spatial; ++i) positions *= y.dims[i + 2];
  const std::int64_t window_size = elements_of_window(geometry);
  tensor::PacedPoll poll(call);
  tensor::for_each_window<2>(
      geometry, x, {&y, &indices},
      [&](std::int64_t plane, const auto& at, const tensor::Shape& position,
          const PoolWindow& window) {
        if (poll.stops(window_size)) return;
        const T* const from = x.data<const T>() + plane;
        T best = least<T>();
        std::int64_t count = 0, found = -1;
        tensor::for_each_tap(geometry, x, window, [&](std::int64_t i) {
          if (found < 0 || compare(from[i], best) > 0) {
            best = from[i];
            found = count;
          }
          ++count;
        });
        y.data<T>()[at[0]] = best;
        indices.data<std::int64_t>()[at[1]] =
            found < 0 ? -1 : numbers.number(done / positions, position, window, found);
        ++done;
      });
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const auto geometry = pool_geometry(call.in(0).shape(), {call.attrs, max_pool_op.attrs.size()});
  if (!geometry) return call.fail("the operands do not fit the attributes");
  tensor::visit_dtype(call.out(0).dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (tensor::RealOrInteger<T>) pool<T>(call, *geometry);
  });
  return call.ok_or_stopped();
}

}  // namespace max_pool
}  // namespace

constinit const ir::OpDef max_pool_op{
    .name = "max_pool",
    .doc =
        "The greatest element of every window over the axes after the first two of x, and its "
        "number among all elements of x; `storage_order` 1 numbers those of a plane with the "
        "first axis fastest. The other attributes are those of average_pool.",
    .inputs = {{"x", ir::Accept::numeric}},
    .outputs = {"y", "indices"},
    .attrs = pool_attrs("storage_order", tensor::AttrKind::integer),
    .infer = max_pool::infer,
    .reference = max_pool::reference,
    .batching = ir::Batching::call,
    .products = products_of_pool,
    .steps = {.axis = steps_of_pool},
    .lifting = kLiftWindows,
};

}  // namespace scanloom::ops
