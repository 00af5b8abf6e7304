// dequantize: integers to f32, as (x - zero) * scale with an exact difference.
#include <memory>

#include "kernels/quantization.h"

namespace scanloom::kernels {
namespace {

using tensor::Call;
using tensor::Status;

template <class T>
Status run(const Call& call) noexcept {
  // Differences of 32-bit integers need one more bit.
  using Wide = std::conditional_t<sizeof(T) < 4, std::int32_t, std::int64_t>;
  const QuantizedLayout& layout = *static_cast<const QuantizedLayout*>(call.prepared);
  const T* x = call.in(0).data<const T>();
  const float* scales = call.in(1).data<const float>();
  const T* zeros = call.has(2) ? call.in(2).data<const T>() : nullptr;
  float* y = call.out(0).data<float>();
  for (std::int64_t o = 0; o < layout.outer; ++o)
    for (std::int64_t a = 0; a < layout.axis; ++a, x += layout.inner, y += layout.inner) {
      const float scale = scales[a * layout.scale_step];
      const Wide zero = zeros == nullptr ? Wide{0} : Wide{zeros[a * layout.zero_step]};
      for (std::int64_t i = 0; i < layout.inner; ++i)
        y[i] = static_cast<float>(Wide{x[i]} - zero) * scale;
    }
  return Status::ok;
}

Prepared prepare(const PrepareCtx& ctx) {
  auto layout = std::make_shared<QuantizedLayout>();
  if (auto why = lay_out_quantized(ctx, *layout)) return Prepared::no(*std::move(why));
  const DType from = ctx.inputs[0].dtype;
  if (from == DType::u8) return {.state = std::move(layout), .run = run<std::uint8_t>};
  if (from == DType::i8) return {.state = std::move(layout), .run = run<std::int8_t>};
  if (from == DType::u16) return {.state = std::move(layout), .run = run<std::uint16_t>};
  if (from == DType::i16) return {.state = std::move(layout), .run = run<std::int16_t>};
  if (from == DType::i32) return {.state = std::move(layout), .run = run<std::int32_t>};
  return Prepared::no("only from integers of at most 32 bits");
}

}  // namespace

extern constinit const KernelDef dequantize_kernel{
    .name = "dequantize",
    .doc = "dequantize_linear from integers to f32.",
    .prepare = prepare,
    .run = run<std::uint8_t>,
};

}  // namespace scanloom::kernels
