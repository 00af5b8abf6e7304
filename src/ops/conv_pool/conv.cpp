// The order of the sum: channels of the group, then kernel positions in row-major order, with one
// multiply-add of base/dot.h each, from 0; the bias is added last. Padding takes part as elements
// that are 0, so that a product over unfolded windows gives the same bits: an infinite weight over
// padding gives NaN. Only the ends of the kernel that meet nothing but padding wherever the window
// is, as under wide dilations, are left out (tensor::live_taps). f16 and bf16 are summed in f32 and
// rounded once.
//
// Dense convolutions of 3x3 with stride 1 and many channels and filters, except of f64, take their
// sums in the order of opmath/winograd.h instead, and in the order above only where those are not
// finite. The bias is still added last.
#include <array>
#include <cmath>
#include <concepts>
#include <new>
#include <vector>

#include "base/dot.h"
#include "opmath/winograd.h"
#include "ops/conv_pool/conv_sizes.h"
#include "ops/conv_pool/conv_windows.h"
#include "ops/conv_pool/window_rules.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "tensor/visit.h"

namespace scanloom::ops {
namespace {
namespace conv {

using tensor::ConvGeometry;
using tensor::Operand;
using tensor::Shape;
using tensor::Type;

constexpr int kBias = 2;

Expected<void> infer(ir::InferCtx& ctx) {
  const Type &x = ctx.in(0), &w = ctx.in(1);
  if (!x.ranked || !w.ranked) {
    const int rank = x.ranked ? x.rank() : w.rank();
    ctx.set(0, x.ranked || w.ranked ? ctx.fresh(x.dtype, rank) : Type::unranked(x.dtype));
    return {};
  }
  SCANLOOM_TRY(std::vector<tensor::Dim> sizes, conv_sizes(ctx, x, w));
  SCANLOOM_CHECK_OK(check_per_filter(ctx, kBias, w));
  return set_sizes(ctx, 0, x.dtype, std::move(sizes));
}

template <class T>
using Sum = decltype(tensor::widen(T{}));

/// Returns a sum over channels, then kernel positions.
template <class T>
Sum<T> direct_sum(const ConvGeometry& geometry, const Operand& x, const Operand& w,
                  std::int64_t image, std::int64_t filter, const Shape& position) {
  Sum<T> sum = 0;
  for_each_tap(geometry, x, w, image, filter, position,
               [&](std::int64_t w_at, bool inside, std::int64_t x_at) {
                 const Sum<T> value = inside ? tensor::widen(x.data<const T>()[x_at]) : Sum<T>{0};
                 sum = multiply_add(value, tensor::widen(w.data<const T>()[w_at]), sum);
               });
  return sum;
}

/// Stores a sum with its bias.
template <class T>
void store(const tensor::Call& call, std::int64_t filter, std::int64_t at, Sum<T> sum) {
  if (call.has(kBias)) {
    const Operand& bias = call.in(kBias);
    sum += tensor::widen(bias.data<const T>()[filter * bias.strides[0]]);
  }
  call.out(0).data<T>()[at] = tensor::narrow<T>(sum);
}

template <class T>
void convolve(const tensor::Call& call, const ConvGeometry& whole) {
  const Operand& x = call.in(0);
  const tensor::LiveTaps taps = tensor::live_taps(whole);
  const ConvGeometry geometry = tensor::trimmed(whole, taps);
  Operand w = call.in(1);
  for (int axis = 0; axis < geometry.spatial; ++axis)
    w.offset += taps.first[static_cast<std::size_t>(axis)] * w.strides[axis + 2] *
                static_cast<std::int64_t>(sizeof(T));
  for_each_output(
      geometry, call,
      [&](std::int64_t image, std::int64_t filter, std::int64_t at, const Shape& position) {
        store<T>(call, filter, at, direct_sum<T>(geometry, x, w, image, filter, position));
      });
}

/// Returns U of all channels of a filter.
template <class T>
std::vector<tensor::WinogradPatch> transformed_weights(const Operand& w, std::int64_t filter) {
  std::vector<tensor::WinogradPatch> all(static_cast<std::size_t>(w.dims[1]));
  const T* from = w.data<const T>() + filter * w.strides[0];
  for (tensor::WinogradPatch& u : all) {
    std::array<float, 9> g{};
    for (std::int64_t i = 0; i < 9; ++i)
      g[static_cast<std::size_t>(i)] =
          tensor::widen(from[i / 3 * w.strides[2] + i % 3 * w.strides[3]]);
    u = tensor::winograd_weights(g.data());
    from += w.strides[1];
  }
  return all;
}

/// Returns the elements of a channel that the tile with its first result at (row, column) reads.
template <class T>
tensor::WinogradPatch patch_of(const ConvGeometry& geometry, const Operand& x, const T* channel,
                               std::int64_t row, std::int64_t column) {
  tensor::WinogradPatch d{};
  for (std::int64_t i = 0; i < tensor::kWinogradParts; ++i) {
    const std::int64_t y_at = row + i / 4 * geometry.dilation[0] - geometry.pad[0];
    const std::int64_t x_at = column + i % 4 * geometry.dilation[1] - geometry.pad[1];
    if (y_at >= 0 && y_at < geometry.in[0] && x_at >= 0 && x_at < geometry.in[1])
      d[static_cast<std::size_t>(i)] =
          tensor::widen(channel[y_at * x.strides[2] + x_at * x.strides[3]]);
  }
  return d;
}

template <class T>
void convolve_by_winograd(const tensor::Call& call, const ConvGeometry& geometry) {
  const Operand &x = call.in(0), &w = call.in(1), &y = call.out(0);
  const auto tile = [&](std::int64_t image, std::int64_t filter, std::int64_t row,
                        std::int64_t column, const std::vector<tensor::WinogradPatch>& weights) {
    tensor::WinogradPatch m{};
    const T* channel = x.data<const T>() + image * x.strides[0];
    for (const tensor::WinogradPatch& u : weights) {
      const tensor::WinogradPatch v =
          tensor::winograd_input(patch_of(geometry, x, channel, row, column));
      for (std::size_t i = 0; i < m.size(); ++i) m[i] = multiply_add(v[i], u[i], m[i]);
      channel += x.strides[1];
    }
    const std::array<float, 4> sums = tensor::winograd_output(m);
    for (std::int64_t i = 0; i < 4; ++i) {
      const Shape position{row + i / 2 * geometry.dilation[0],
                           column + i % 2 * geometry.dilation[1]};
      if (position[0] >= geometry.out[0] || position[1] >= geometry.out[1]) continue;
      const float sum = sums[static_cast<std::size_t>(i)];
      store<T>(
          call, filter,
          image * y.strides[0] + filter * y.strides[1] + tensor::offset_of(position, y.strides + 2),
          std::isfinite(sum) ? sum : direct_sum<T>(geometry, x, w, image, filter, position));
    }
  };
  const std::array<std::int64_t, 2> tiles{
      tensor::winograd_tiles(geometry.out[0], geometry.dilation[0]),
      tensor::winograd_tiles(geometry.out[1], geometry.dilation[1])};
  const std::int64_t work = geometry.channels * tensor::kWinogradParts * tensor::kWinogradParts;
  tensor::PacedPoll poll(call);
  for (std::int64_t filter = 0; filter < geometry.filters; ++filter) {
    const std::vector<tensor::WinogradPatch> weights = transformed_weights<T>(w, filter);
    for (std::int64_t image = 0; image < geometry.batch; ++image)
      for (std::int64_t row = 0; row < tiles[0]; ++row)
        for (std::int64_t column = 0; column < tiles[1]; ++column) {
          if (poll.stops(work)) return;
          tile(image, filter, tensor::first_of_tile(row, geometry.dilation[0]),
               tensor::first_of_tile(column, geometry.dilation[1]), weights);
        }
  }
}

tensor::Status reference(const tensor::Call& call) noexcept try {
  const auto geometry = tensor::conv_geometry(call.in(0).shape(), call.in(1).shape(),
                                              {call.attrs, conv_op.attrs.size()});
  if (!geometry) return call.fail("the operands do not fit the attributes");
  tensor::visit_dtype(call.out(0).dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::floating_point<T> || tensor::SmallFloatType<T>) {
      if constexpr (std::same_as<Sum<T>, float>)
        if (tensor::sums_by_winograd(*geometry)) return convolve_by_winograd<T>(call, *geometry);
      convolve<T>(call, *geometry);
    }
  });
  return call.ok_or_stopped();
} catch (const std::bad_alloc&) {
  *call.fault = {.code = Code::out_of_memory,
                 .text = "out of memory while transforming the weights of a convolution"};
  return tensor::Status::fault;
}

}  // namespace conv
}  // namespace

constinit const ir::OpDef conv_op{
    .name = "conv",
    .doc =
        "Convolution over one or more axes: x [batch, channels, ...], w [filters, channels / "
        "group, ...]. auto_pad is explicit (by `pads`, first all begins, then all ends), "
        "same_upper, same_lower or valid.",
    .inputs = {{"x", ir::Accept::real},
               {.name = "w", .accept = ir::Accept::real, .same_as = 0},
               {"b", ir::Accept::real, ir::Arity::optional, 0}},
    .outputs = {"y"},
    .attrs = kConvAttrs,
    .infer = conv::infer,
    .reference = conv::reference,
    .batching = ir::Batching::convolution,
    .widens_f16 = ir::always_widens,
    .products = products_of_conv,
    .steps = {.axis = steps_of_windows},
    .lifting = kLiftWindows,
};

}  // namespace scanloom::ops
