#include "ops/quantize/column_weights.h"

#include <algorithm>

namespace scanloom::ops {
namespace {

using tensor::Tensor;
using tensor::block_quantization::BlockFormat;
using tensor::block_quantization::kMinBlock;

bool is_signed(const Tensor& tensor) { return dtype_kind(tensor.dtype()) == DTypeKind::signed_int; }

/// An element of a tensor; one of one element has it everywhere.
int small_integer(const Tensor& tensor, std::int64_t i) {
  const std::int64_t at = tensor.elements() == 1 ? 0 : i;
  return is_signed(tensor) ? static_cast<const std::int8_t*>(tensor.data())[at]
                           : static_cast<const std::uint8_t*>(tensor.data())[at];
}

/// `bias` makes the numbers not negative.
Expected<Tensor> packed(const ColumnWeights& weights, const BlockFormat& format,
                        std::int64_t columns, int bias) {
  SCANLOOM_TRY(Tensor bytes, Tensor::zeros(DType::u8, {columns, format.bytes()}));
  auto* const to = static_cast<std::uint8_t*>(bytes.mutable_data());
  const std::int64_t column_step = weights.by_rows ? format.size : 1;
  const std::int64_t row_step = weights.by_rows ? 1 : columns;
  // Lines of the cache are read and written as a whole.
  constexpr std::int64_t kTile = 64;
  for (std::int64_t first = 0; first < columns; first += kTile)
    for (std::int64_t k = 0; k < format.size; k += kTile)
      for (std::int64_t j = first; j < std::min(first + kTile, columns); ++j)
        for (std::int64_t i = k; i < std::min(k + kTile, format.size); ++i) {
          const int number = small_integer(*weights.numbers, j * column_step + i * row_step) + bias;
          std::uint8_t& byte = to[j * format.bytes() + i * format.bits / 8];
          byte = static_cast<std::uint8_t>(byte | number << (i * format.bits % 8));
        }
  return bytes;
}

}  // namespace

Expected<BlockWeights> in_blocks(const ColumnWeights& weights) {
  const tensor::Shape& shape = weights.numbers->shape();
  const std::int64_t columns = shape[weights.by_rows ? 0 : 1];
  BlockWeights result;
  BlockFormat& format = result.format;
  format.bits = dtype_file_bits(weights.numbers->dtype());
  format.size = shape[weights.by_rows ? 1 : 0];
  format.block = (format.size + kMinBlock - 1) / kMinBlock * kMinBlock;
  const int bias = is_signed(*weights.numbers) ? 1 << (format.bits - 1) : 0;
  SCANLOOM_TRY(result.bytes, packed(weights, format, columns, bias));
  SCANLOOM_TRY(result.scales, Tensor::zeros(DType::f32, {columns, 1}));
  SCANLOOM_TRY(result.zeros, Tensor::zeros(DType::u8, {columns, 1}));
  const std::span<const float> scales = weights.scales->as<float>();
  for (std::int64_t j = 0; j < columns; ++j) {
    const int zero = weights.zeros == nullptr ? 0 : small_integer(*weights.zeros, j);
    static_cast<float*>(result.scales.mutable_data())[j] =
        scales[scales.size() == 1 ? 0 : static_cast<std::size_t>(j)];
    static_cast<std::uint8_t*>(result.zeros.mutable_data())[j] =
        static_cast<std::uint8_t>(zero + bias);
  }
  return result;
}

}  // namespace scanloom::ops
