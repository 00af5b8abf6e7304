// The order of the sum: channels of the group, then kernel positions in row-major order, with one
// multiply-add of base/dot.h each, from 0; the bias is added last. Padding takes part as elements
// that are 0, so that a product over unfolded windows gives the same bits: an infinite weight over
// padding gives NaN. Only the ends of the kernel that meet nothing but padding wherever the window
// is, as under wide dilations, are left out (tensor::live_taps). f16 and bf16 are summed in f32 and
// rounded once.
#include "base/dot.h"
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
void convolve(const tensor::Call& call, const ConvGeometry& whole) {
  using Sum = decltype(tensor::widen(T{}));
  const Operand &x = call.in(0), &y = call.out(0);
  const tensor::LiveTaps taps = tensor::live_taps(whole);
  const ConvGeometry geometry = tensor::trimmed(whole, taps);
  Operand w = call.in(1);
  for (int axis = 0; axis < geometry.spatial; ++axis)
    w.offset += taps.first[static_cast<std::size_t>(axis)] * w.strides[axis + 2] *
                static_cast<std::int64_t>(sizeof(T));
  for_each_output(
      geometry, y,
      [&](std::int64_t image, std::int64_t filter, std::int64_t at, const Shape& position) {
        Sum sum = 0;
        for_each_tap(geometry, x, w, image, filter, position,
                     [&](std::int64_t w_at, bool inside, std::int64_t x_at) {
                       const Sum value = inside ? tensor::widen(x.data<const T>()[x_at]) : Sum{0};
                       sum = multiply_add(value, tensor::widen(w.data<const T>()[w_at]), sum);
                     });
        if (call.has(kBias)) {
          const Operand& bias = call.in(kBias);
          sum += tensor::widen(bias.data<const T>()[filter * bias.strides[0]]);
        }
        y.data<T>()[at] = tensor::narrow<T>(sum);
      });
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const auto geometry = tensor::conv_geometry(call.in(0).shape(), call.in(1).shape(),
                                              {call.attrs, conv_op.attrs.size()});
  if (!geometry) return call.fail("the operands do not fit the attributes");
  tensor::visit_dtype(call.out(0).dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::floating_point<T> || tensor::SmallFloatType<T>) convolve<T>(call, *geometry);
  });
  return tensor::Status::ok;
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
