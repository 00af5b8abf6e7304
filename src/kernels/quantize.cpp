// quantize: f32 to integers of at most 16 bits, as x / scale rounded to nearest even, plus zero,
// clamped to the range.
#include <memory>

#include "kernels/byte_product.h"
#include "kernels/quantization.h"

namespace scanloom::kernels {
namespace {
namespace quantize {

using tensor::Call;
using tensor::Status;

// f32 is enough: integers below 2^24, which exceed all ranges here, are exact in it.
template <class T>
struct QuantizeSchedule {
  QuantizedLayout layout;
  QuantizeFn<T> row = nullptr;
};

template <class T>
Status run(const Call& call) noexcept {
  const auto& plan = *static_cast<const QuantizeSchedule<T>*>(call.prepared);
  const QuantizedLayout& layout = plan.layout;
  const float* x = call.in(0).data<const float>();
  const float* scales = call.in(1).data<const float>();
  const T* zeros = call.has(2) ? call.in(2).data<const T>() : nullptr;
  T* y = call.out(0).data<T>();
  for_each_run(layout, call.max_threads, [&](std::int64_t a, std::int64_t at, std::int64_t count) {
    plan.row(x + at, count, scales[a * layout.scale_step],
             zeros == nullptr ? 0.0f : static_cast<float>(zeros[a * layout.zero_step]), y + at);
  });
  return Status::ok;
}

template <class T>
Prepared prepared(const QuantizedLayout& layout, QuantizeFn<T> row) {
  return {.state = std::make_shared<const QuantizeSchedule<T>>(QuantizeSchedule<T>{layout, row}),
          .run = run<T>};
}

Prepared prepare(const PrepareCtx& ctx) {
  if (ctx.inputs[0].dtype != DType::f32) return Prepared::no("only from f32");
  QuantizedLayout layout;
  if (auto why = lay_out_quantized(ctx, layout)) return Prepared::no(*std::move(why));
  const ByteTables& tables = byte_tables(ctx.isa);
  const DType to = ctx.outputs[0].dtype;
  if (to == DType::u8) return prepared(layout, tables.quantize_u8);
  if (to == DType::i8) return prepared(layout, tables.quantize_i8);
  if (to == DType::u16) return prepared(layout, tables.quantize_u16);
  if (to == DType::i16) return prepared(layout, tables.quantize_i16);
  return Prepared::no("only to integers of 8 or 16 bits");
}

}  // namespace quantize
}  // namespace

extern constinit const KernelDef quantize_kernel{
    .name = "quantize",
    .doc = "quantize_linear from f32 to integers of 8 or 16 bits.",
    .prepare = quantize::prepare,
    .run = quantize::run<std::uint8_t>,
};

}  // namespace scanloom::kernels
