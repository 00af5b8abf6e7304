#include "passes/nodes/stored_part.h"

#include <vector>

#include "ir/op_def.h"
#include "ops/indices.h"
#include "ops/ops.h"

namespace scanloom::passes {
namespace {

using tensor::Tensor;

// A part of fewer bytes, or of less than this fraction of the constant, is copied: the constant can
// be freed then.
constexpr std::size_t kMinPartBytes = std::size_t{64} << 10, kMinFraction = 4;

/// The first element of the part that a gather picks, if that is adjacent elements.
std::optional<std::int64_t> first_picked(const ir::Node& node, std::span<const Tensor> inputs) {
  const Tensor &data = inputs[0], &indices = inputs[1];
  const int rank = data.shape().rank();
  if (!indices.defined() || indices.elements() != 1) return std::nullopt;
  const std::int64_t given = node.attrs[0].integer(), axis = given < 0 ? given + rank : given;
  const auto index = tensor::to_integers(indices);
  if (!index || axis < 0 || axis >= rank) return std::nullopt;
  const std::int64_t size = data.shape()[static_cast<int>(axis)];
  std::int64_t before = 1, each = 1;
  for (int i = 0; i < rank; ++i) (i < axis ? before : each) *= i == axis ? 1 : data.shape()[i];
  const std::int64_t position = ops::position_of(index->front(), size);
  if (position < 0 || (before != 1 && size != 1)) return std::nullopt;
  return position * each;
}

/// The first element of what a view selects, if that is adjacent elements.
std::optional<std::int64_t> first_viewed(const ir::Node& node, const tensor::Shape& result,
                                         std::span<const Tensor> inputs) {
  if (node.op->view == nullptr || result.elements() == 0) return std::nullopt;
  std::vector<std::optional<std::vector<std::int64_t>>> integers(inputs.size());
  for (std::size_t i = 1; i < inputs.size(); ++i)
    integers[i] =
        inputs[i].defined() ? tensor::to_integers(inputs[i]) : std::vector<std::int64_t>();
  const tensor::Shape& dims = inputs[0].shape();
  const auto view =
      node.op->view({dims, tensor::contiguous_strides(dims), result, node.attrs, integers});
  if (!view || view->dims != result ||
      !tensor::is_contiguous(view->dims.dims(), view->strides.dims()))
    return std::nullopt;
  return view->offset;
}

/// The elements of `whole` from `first` on, as they are stored.
Tensor part_of(const Tensor& whole, const tensor::Shape& shape, std::int64_t first) {
  const DType dtype = whole.dtype();
  const auto* const from = static_cast<const std::byte*>(whole.stored()) +
                           static_cast<std::size_t>(first) * dtype_bytes(dtype);
  return whole.is_aligned() ? Tensor(dtype, shape, whole.owner(), from)
                            : Tensor::at_any_address(dtype, shape, whole.owner(), from);
}

}  // namespace

std::optional<Tensor> stored_part(const ir::Node& node, const ir::Type& type,
                                  std::span<const Tensor> inputs) {
  if (inputs.empty() || !inputs[0].defined() || !type.is_static() ||
      type.dtype != inputs[0].dtype())
    return std::nullopt;
  const Tensor& whole = inputs[0];
  const std::int64_t elements = type.shape().elements();
  if (node.op->access == ir::Access::view && node.op->keeps_order && elements == whole.elements())
    return whole.reshaped(type.shape());
  if (whole.dtype() == DType::string) return std::nullopt;
  const std::size_t bytes = static_cast<std::size_t>(elements) * dtype_bytes(type.dtype);
  if (bytes < kMinPartBytes || bytes < whole.bytes() / kMinFraction) return std::nullopt;
  const std::optional<std::int64_t> first = node.op == &ops::gather_op
                                                ? first_picked(node, inputs)
                                                : first_viewed(node, type.shape(), inputs);
  if (!first) return std::nullopt;
  return part_of(whole, type.shape(), *first);
}

}  // namespace scanloom::passes
