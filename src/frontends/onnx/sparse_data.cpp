// Reads sparse tensors for TensorReader, which makes them dense.
#include <algorithm>
#include <cstring>
#include <functional>

#include "base/utf8.h"
#include "frontends/onnx/tensor_data.h"

namespace scanloom::onnx {

using tensor::Shape;
using tensor::Tensor;

namespace {

/// Limits on one dense tensor made from a sparse one, and on all of them together, since the length
/// of the file does not limit them.
constexpr std::int64_t kMaxDenseElements = std::int64_t{1} << 26;
constexpr std::uint64_t kMaxDenseBytes = std::uint64_t{1} << 29;

Expected<Shape> dense_shape(const SparseTensorProto& proto) {
  if (proto.dims.size() > static_cast<std::size_t>(tensor::kMaxRank))
    return fail(Code::unsupported, "it has {} axes, but at most {} are allowed", proto.dims.size(),
                tensor::kMaxRank);
  const Shape shape(proto.dims);
  const std::optional<std::int64_t> elements = shape.checked_elements();
  if (!elements) return invalid_model("its shape {} is negative or too large", shape.to_string());
  if (*elements > kMaxDenseElements)
    return fail(Code::unsupported,
                "its {} elements exceed the {} that can be expanded to a dense tensor", *elements,
                kMaxDenseElements);
  return shape;
}

/// Returns the position of every value in the dense tensor, from [nnz] or [nnz, rank] indices.
Expected<std::vector<std::int64_t>> positions(const Tensor& indices, const Shape& dense,
                                              std::int64_t count) {
  const Shape& shape = indices.shape();
  const bool flat = shape == Shape{count};
  if (indices.dtype() != DType::i64 || (!flat && shape != Shape{count, dense.rank()}))
    return invalid_model("its indices are {}{}, which does not match {} values of {} axes",
                         dtype_name(indices.dtype()), shape.to_string(), count, dense.rank());
  const auto* index = static_cast<const std::int64_t*>(indices.data());
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t position = 0;
    if (flat) {
      position = *index++;
      if (position < 0 || position >= dense.elements())
        return invalid_model("its index {} is outside {}", position, dense.to_string());
    } else {
      for (const std::int64_t size : dense) {
        const std::int64_t at = *index++;
        if (at < 0 || at >= size)
          return invalid_model("its index {} is outside an axis of {}", at, size);
        position = position * size + at;
      }
    }
    result.push_back(position);
  }
  return result;
}

/// Describes how the positions violate the rule that they ascend; empty if they do not.
std::string describe_disorder(const std::vector<std::int64_t>& positions) {
  const auto out_of_order = std::ranges::adjacent_find(positions, std::greater_equal());
  if (out_of_order == positions.end()) return {};
  const std::int64_t before = *out_of_order, after = *(out_of_order + 1);
  std::vector<std::int64_t> sorted = positions;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end())
    return fmt::format("it has two values for element {}, of which the last is used", *twice);
  return fmt::format("its indices must ascend, but element {} comes after element {}", after,
                     before);
}

}  // namespace

Expected<Tensor> TensorReader::make_dense(const SparseTensorProto& proto) {
  SCANLOOM_TRY(const Shape shape, dense_shape(proto));
  SCANLOOM_TRY(const Tensor values, read(proto.values));
  SCANLOOM_TRY(const Tensor indices, read(proto.indices));
  if (values.shape().rank() != 1)
    return invalid_model("its values have {} axes instead of 1", values.shape().rank());
  SCANLOOM_TRY(const auto where, positions(indices, shape, values.elements()));
  if (const std::string disorder = describe_disorder(where); !disorder.empty())
    warnings_.push_back(
        fmt::format("sparse tensor '{}': {}", shortened(proto.values.name, 256), disorder));
  const std::size_t bytes = dtype_bytes(values.dtype());
  sparse_bytes_ += static_cast<std::uint64_t>(shape.elements()) * bytes;
  if (sparse_bytes_ > kMaxDenseBytes)
    return fail(Code::limit_reached,
                "with it the sparse tensors of the model need {} bytes as dense tensors, but at "
                "most {} are allowed",
                sparse_bytes_, kMaxDenseBytes);
  if (values.dtype() == DType::string) {
    std::vector<std::string> texts(static_cast<std::size_t>(shape.elements()));
    const auto* refs = static_cast<const tensor::StringRef*>(values.data());
    for (std::size_t i = 0; i < where.size(); ++i)
      texts[static_cast<std::size_t>(where[i])] = refs[i].view();
    return Tensor::of_strings(shape, texts);
  }
  SCANLOOM_TRY(Tensor dense, Tensor::zeros(values.dtype(), shape));
  auto* out = static_cast<std::byte*>(dense.mutable_data());
  const auto* in = static_cast<const std::byte*>(values.data());
  for (std::size_t i = 0; i < where.size(); ++i)
    std::memcpy(out + static_cast<std::size_t>(where[i]) * bytes, in + i * bytes, bytes);
  return dense;
}

Expected<Tensor> TensorReader::read(const SparseTensorProto& proto) {
  Expected<Tensor> dense = once(&proto, [&] { return make_dense(proto); });
  if (dense) return dense;
  return std::move(dense).error().at(fmt::format("sparse tensor '{}'", proto.values.name));
}

}  // namespace scanloom::onnx
