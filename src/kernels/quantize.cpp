// quantize: f32 to integers of at most 16 bits, as x / scale rounded to nearest even, plus zero,
// clamped to the range.
#include <cmath>
#include <limits>
#include <memory>

#include "kernels/quantization.h"

namespace scanloom::kernels {
namespace {

using tensor::Call;
using tensor::Status;

// f32 is enough: integers below 2^24, which exceed all ranges here, are exact in it.
template <class T>
void quantize_run(const float* x, float scale, float zero, T* y, std::int64_t count) {
  constexpr float kMin = std::numeric_limits<T>::min(), kMax = std::numeric_limits<T>::max();
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = std::nearbyint(x[i] / scale) + zero;
    const float from_below = value > kMin ? value : kMin;
    const float limited = from_below < kMax ? from_below : kMax;
    y[i] = static_cast<T>(static_cast<std::int32_t>(value != value ? 0.0f : limited));
  }
}

template <class T>
Status run(const Call& call) noexcept {
  const QuantizedLayout& layout = *static_cast<const QuantizedLayout*>(call.prepared);
  const float* x = call.in(0).data<const float>();
  const float* scales = call.in(1).data<const float>();
  const T* zeros = call.has(2) ? call.in(2).data<const T>() : nullptr;
  T* y = call.out(0).data<T>();
  for (std::int64_t o = 0; o < layout.outer; ++o)
    for (std::int64_t a = 0; a < layout.axis; ++a, x += layout.inner, y += layout.inner)
      quantize_run(x, scales[a * layout.scale_step],
                   zeros == nullptr ? 0.0f : static_cast<float>(zeros[a * layout.zero_step]), y,
                   layout.inner);
  return Status::ok;
}

Prepared prepare(const PrepareCtx& ctx) {
  if (ctx.inputs[0].dtype != DType::f32) return Prepared::no("only from f32");
  auto layout = std::make_shared<QuantizedLayout>();
  if (auto why = lay_out_quantized(ctx, *layout)) return Prepared::no(*std::move(why));
  const DType to = ctx.outputs[0].dtype;
  if (to == DType::u8) return {.state = std::move(layout), .run = run<std::uint8_t>};
  if (to == DType::i8) return {.state = std::move(layout), .run = run<std::int8_t>};
  if (to == DType::u16) return {.state = std::move(layout), .run = run<std::uint16_t>};
  if (to == DType::i16) return {.state = std::move(layout), .run = run<std::int16_t>};
  return Prepared::no("only to integers of 8 or 16 bits");
}

}  // namespace

extern constinit const KernelDef quantize_kernel{
    .name = "quantize",
    .doc = "quantize_linear from f32 to integers of 8 or 16 bits.",
    .prepare = prepare,
    .run = run<std::uint8_t>,
};

}  // namespace scanloom::kernels
