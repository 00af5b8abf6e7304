#include "tensor/raw_data.h"

#include <bit>
#include <cstring>

#include "base/mapped_file.h"

namespace scanloom::tensor {
namespace {

/// Smaller tensors are copied: a copy is better aligned and does not keep the file mapped.
constexpr std::size_t kAliasBytes = 4096;
// Bytes from which a copy at an aligned address is put off: a kernel may pack the elements instead.
constexpr std::size_t kLaterBytes = 65536;

/// Readable bytes that must follow data used in place, so that whole vectors may be read.
constexpr std::size_t kPadding = 63;

std::size_t element_alignment(DType dtype) {
  // A complex number is stored as two floating-point numbers.
  return dtype_kind(dtype) == DTypeKind::complex ? dtype_bytes(dtype) / 2 : dtype_bytes(dtype);
}

}  // namespace

Expected<Shape> shape_of(std::span<const std::int64_t> dims) {
  if (dims.size() > static_cast<std::size_t>(kMaxRank))
    return fail(Code::unsupported, "it has {} axes, but at most {} are allowed", dims.size(),
                kMaxRank);
  for (std::size_t axis = 0; axis < dims.size(); ++axis)
    if (dims[axis] < 0) return invalid_model("its axis {} has {} elements", axis, dims[axis]);
  Shape shape(dims);
  if (!shape.checked_elements())
    return invalid_model("its shape {} has more elements than a tensor may have",
                         shape.to_string());
  return shape;
}

std::uint64_t file_bytes(DType dtype, std::int64_t elements) {
  // At most 2^40 elements of 128 bits: no overflow.
  const auto bits =
      static_cast<std::uint64_t>(elements) * static_cast<std::uint64_t>(dtype_file_bits(dtype));
  return (bits + 7) / 8;
}

void unpack(DType dtype, std::string_view packed, std::int64_t elements, std::uint8_t* out) {
  const auto bits = static_cast<unsigned>(dtype_file_bits(dtype));
  const unsigned per_byte = 8 / bits;
  const unsigned mask = (1u << bits) - 1;
  const bool is_signed = dtype_kind(dtype) == DTypeKind::signed_int;
  for (std::int64_t i = 0; i < elements; ++i) {
    const auto index = static_cast<std::size_t>(i);
    const auto byte = static_cast<std::uint8_t>(packed[index / per_byte]);
    unsigned value = (byte >> (bits * (index % per_byte))) & mask;
    if (is_signed && (value >> (bits - 1)) != 0) value |= ~mask;
    out[index] = static_cast<std::uint8_t>(value);
  }
}

std::string pack(const Tensor& tensor) {
  const auto bits = static_cast<unsigned>(dtype_file_bits(tensor.dtype()));
  const unsigned per_byte = 8 / bits;
  const unsigned mask = (1u << bits) - 1;
  const auto* const values = static_cast<const std::uint8_t*>(tensor.data());
  std::string packed(file_bytes(tensor.dtype(), tensor.elements()), '\0');
  for (std::size_t i = 0; i < static_cast<std::size_t>(tensor.elements()); ++i) {
    const unsigned value = (values[i] & mask) << (bits * (i % per_byte));
    packed[i / per_byte] =
        static_cast<char>(static_cast<std::uint8_t>(packed[i / per_byte]) | value);
  }
  return packed;
}

Expected<Tensor> tensor_of_raw(DType dtype, const Shape& shape, OwnedBytes data) {
  static_assert(std::endian::native == std::endian::little, "raw data is little-endian");
  if (dtype == DType::string) return invalid_model("raw data cannot hold strings");
  const std::int64_t elements = shape.elements();
  const std::uint64_t needs = file_bytes(dtype, elements);
  if (data.bytes.size() < needs || (data.has_length && data.bytes.size() > needs))
    return invalid_model("its data has {} bytes, but its shape {} needs {}", data.bytes.size(),
                         shape.to_string(), needs);
  if (dtype_file_bits(dtype) < 8) {
    SCANLOOM_TRY(Tensor tensor, Tensor::zeros(dtype, shape));
    unpack(dtype, data.bytes, elements, static_cast<std::uint8_t*>(tensor.mutable_data()));
    return tensor;
  }
  if (dtype == DType::boolean) {
    SCANLOOM_TRY(Tensor tensor, Tensor::zeros(dtype, shape));
    auto* out = static_cast<std::uint8_t*>(tensor.mutable_data());
    for (std::size_t i = 0; i < needs; ++i) out[i] = data.bytes[i] != 0 ? 1 : 0;
    return tensor;
  }
  const auto address = reinterpret_cast<std::uintptr_t>(data.bytes.data());
  const std::size_t after = data.after + (data.bytes.size() - needs);
  const bool is_aligned = address % element_alignment(dtype) == 0;
  if (needs >= (is_aligned ? kAliasBytes : kLaterBytes) && after >= kPadding)
    return is_aligned
               ? Tensor(dtype, shape, std::move(data.owner), data.bytes.data())
               : Tensor::at_any_address(dtype, shape, std::move(data.owner), data.bytes.data());
  SCANLOOM_TRY(Tensor tensor, Tensor::zeros(dtype, shape));
  if (needs > 0) std::memcpy(tensor.mutable_data(), data.bytes.data(), needs);
  release_file_pages(data.bytes.data(), needs);
  return tensor;
}

}  // namespace scanloom::tensor
