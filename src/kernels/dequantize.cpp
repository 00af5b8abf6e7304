// dequantize: integers to f32, as (x - zero) * scale with an exact difference.
#include <memory>
#include <type_traits>

#include "kernels/byte_product.h"
#include "kernels/quantization.h"

namespace scanloom::kernels {
namespace {
namespace dequantize {

using tensor::Call;
using tensor::Status;

// Differences of 32-bit integers need one more bit.
template <class T>
using WideInteger = std::conditional_t<sizeof(T) < 4, std::int32_t, std::int64_t>;

template <class T>
void plain_row(const T* x, std::int64_t count, std::int32_t zero, float scale, float* y) {
  for (std::int64_t i = 0; i < count; ++i)
    y[i] = static_cast<float>(WideInteger<T>{x[i]} - WideInteger<T>{zero}) * scale;
}

template <class T>
struct DequantizeSchedule {
  QuantizedLayout layout;
  DequantizeFn<T> row = nullptr;
  DequantizeColumnsFn<T> columns = nullptr;  ///< if each element has parameters of its own
};

/// Whether adjacent elements have adjacent parameters, in rows of the axis.
bool has_columns(const QuantizedLayout& layout, bool has_zeros) {
  return layout.inner == 1 && layout.scale_step == 1 && (!has_zeros || layout.zero_step == 1);
}

template <class T>
Status run(const Call& call) noexcept {
  const auto& plan = *static_cast<const DequantizeSchedule<T>*>(call.prepared);
  const QuantizedLayout& layout = plan.layout;
  const T* const x = call.in(0).data<const T>();
  const float* const scales = call.in(1).data<const float>();
  const T* const zeros = call.has(2) ? call.in(2).data<const T>() : nullptr;
  float* const y = call.out(0).data<float>();
  if (plan.columns != nullptr) {
    // Whole rows of the axis, or parts of them.
    const QuantizedLayout rows{.outer = 1, .axis = layout.outer, .inner = layout.axis};
    for_each_run(rows, call.max_threads, [&](std::int64_t, std::int64_t at, std::int64_t count) {
      const std::int64_t column = at % layout.axis;
      plan.columns(x + at, count, zeros == nullptr ? nullptr : zeros + column, scales + column,
                   y + at);
    });
    return Status::ok;
  }
  for_each_run(layout, call.max_threads, [&](std::int64_t a, std::int64_t at, std::int64_t count) {
    const std::int32_t zero =
        zeros == nullptr ? 0 : static_cast<std::int32_t>(zeros[a * layout.zero_step]);
    plan.row(x + at, count, zero, scales[a * layout.scale_step], y + at);
  });
  return Status::ok;
}

template <class T>
Prepared prepared(const QuantizedLayout& layout, DequantizeFn<T> row,
                  DequantizeColumnsFn<T> columns = nullptr) {
  return {.state = std::make_shared<const DequantizeSchedule<T>>(
              DequantizeSchedule<T>{layout, row, columns}),
          .run = run<T>};
}

Prepared prepare(const PrepareCtx& ctx) {
  QuantizedLayout layout;
  if (auto why = lay_out_quantized(ctx, layout)) return Prepared::no(*std::move(why));
  const ByteTables& tables = byte_tables(ctx.isa);
  const DType from = ctx.inputs[0].dtype;
  const bool by_column = has_columns(layout, ctx.inputs.size() > 2 && ctx.inputs[2].present());
  if (from == DType::u8)
    return prepared(layout, tables.dequantize_u8,
                    by_column ? tables.dequantize_columns_u8 : nullptr);
  if (from == DType::i8)
    return prepared(layout, tables.dequantize_i8,
                    by_column ? tables.dequantize_columns_i8 : nullptr);
  if (from == DType::u16) return prepared<std::uint16_t>(layout, plain_row<std::uint16_t>);
  if (from == DType::i16) return prepared<std::int16_t>(layout, plain_row<std::int16_t>);
  if (from == DType::i32) return prepared<std::int32_t>(layout, plain_row<std::int32_t>);
  return Prepared::no("only from integers of at most 32 bits");
}

}  // namespace dequantize
}  // namespace

extern constinit const KernelDef dequantize_kernel{
    .name = "dequantize",
    .doc = "dequantize_linear from integers to f32.",
    .prepare = dequantize::prepare,
    .run = dequantize::run<std::uint8_t>,
};

}  // namespace scanloom::kernels
