#include "exporters/openvino/weights_writer.h"

#include <functional>

#include "tensor/openvino_bits.h"
#include "tensor/raw_data.h"

namespace scanloom::exporters::openvino {

using tensor::Tensor;

namespace {

/// Alignment of constants, so that a mapped file can be read in place as vectors of any type.
constexpr std::uint64_t kAlignment = 64;

void append_number(std::string& bytes, std::size_t value) {
  for (unsigned shift = 0; shift < 32; shift += 8)
    bytes += static_cast<char>(static_cast<std::uint8_t>(value >> shift));
}

/// A count, count + 1 offsets, and the characters between them. Numbers have 32 bits.
std::string packed_strings(const Tensor& tensor) {
  std::string numbers, text;
  append_number(numbers, static_cast<std::size_t>(tensor.elements()));
  append_number(numbers, 0);
  for (const StringRef& each : tensor.as<StringRef>()) {
    text += each.view();
    append_number(numbers, text.size());
  }
  return numbers + text;
}

WeightsPiece piece_of(const Tensor& tensor) {
  if (tensor.dtype() == DType::string) return {.packed = packed_strings(tensor)};
  if (tensor::has_own_bits(tensor.dtype())) return {.packed = tensor::pack_openvino(tensor)};
  if (dtype_file_bits(tensor.dtype()) < 8) return {.packed = tensor::pack(tensor)};
  return {.tensor = tensor};
}

}  // namespace

WeightsWriter::Range WeightsWriter::place(const Tensor& tensor) {
  WeightsPiece piece = piece_of(tensor);
  const std::string_view bytes = piece.bytes();
  if (bytes.empty()) return {};
  const std::size_t hash = std::hash<std::string_view>()(bytes);
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto each = first; each != last; ++each)
    if (pieces_[each->second].bytes() == bytes) return {pieces_[each->second].offset, bytes.size()};
  piece.offset = (size_ + kAlignment - 1) / kAlignment * kAlignment;
  const Range range{piece.offset, bytes.size()};
  size_ = range.offset + range.size;
  by_hash_.emplace(hash, pieces_.size());
  pieces_.push_back(std::move(piece));
  return range;
}

}  // namespace scanloom::exporters::openvino
