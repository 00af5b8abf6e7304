#include "ir/infer_node.h"

#include <algorithm>

#include "ir/signature.h"
#include "tensor/scalar_eval.h"

namespace scanloom::ir {

using tensor::Dim;
using tensor::Tensor;
using tensor::Type;

std::optional<Tensor> tensor_of(const std::vector<Dim>& integers, const Type& type) {
  const bool all = std::ranges::all_of(integers, [](Dim dim) { return dim.is_constant(); });
  if (!all || !type.is_tensor() || !type.ranked || type.rank() > 1) return std::nullopt;
  if (!is_integer(type.dtype) || (type.rank() == 0 && integers.size() != 1)) return std::nullopt;
  tensor::Shape shape;
  if (type.rank() == 1) shape.push_back(static_cast<std::int64_t>(integers.size()));
  if (type.rank() == 1 && type.dims[0] != Dim(shape[0])) return std::nullopt;
  auto tensor = Tensor::zeros(type.dtype, shape);
  if (!tensor) return std::nullopt;
  auto* data = static_cast<std::byte*>(tensor->mutable_data());
  const auto step = static_cast<std::int64_t>(dtype_bytes(type.dtype));
  for (const Dim integer : integers) {
    const tensor::ScalarReg value{tensor::scalar_bits(integer.value(), type.dtype), 0};
    tensor::store_scalars(type.dtype, &value, data, step, 1);
    data += step;
  }
  return *std::move(tensor);
}

std::shared_ptr<const Known> known_tensor(Tensor value) {
  return std::make_shared<const Known>(Known{std::move(value), std::nullopt});
}

Expected<void> check_type(const Type& type, const tensor::DimTable& dims) {
  if (type.dims.size() > static_cast<std::size_t>(tensor::kMaxRank))
    return fail(Code::unsupported, "{} has {} axes, which exceeds the limit of {}",
                to_string(type, dims), type.dims.size(), tensor::kMaxRank);
  for (const Dim dim : type.dims)
    if (dim.is_constant() && dim.value() < 0)
      return invalid_model("{} has a size of {}", to_string(type, dims), dim.value());
  if (type.is_static() && !type.shape().checked_elements())
    return invalid_model("{} has more than 2^40 elements", to_string(type, dims));
  return {};
}

Expected<void> check_reported_sizes(const OpDef& op, std::span<const Type* const> operands,
                                    std::span<const Type> results, const tensor::DimTable& dims) {
  if (std::ranges::all_of(results, [](const Type& type) { return type.is_static(); })) return {};
  std::string given;
  for (const Type* operand : operands)
    if (operand != nullptr) given += (given.empty() ? "" : ", ") + to_string(*operand, dims);
  return fail(Code::invalid_argument, "{} has no result of known size from {}", op.name, given);
}

Expected<NodeTypes> infer_node(const OpDef& op, std::span<const Type* const> types,
                               std::span<const Known* const> known,
                               std::span<const tensor::Attr> attrs, std::size_t outputs,
                               tensor::DimTable& dims) {
  SCANLOOM_CHECK_OK(check_signature(op, types, attrs, dims));
  InferCtx ctx(types, known, attrs, outputs, dims);
  SCANLOOM_CHECK_OK(op.infer(ctx));
  NodeTypes result{std::move(ctx.outputs()), {}, ctx.values_asked()};
  result.known.resize(outputs);
  for (std::size_t i = 0; i < outputs; ++i) {
    SCANLOOM_CHECK_OK(check_type(result.types[i], dims));
    auto& integers = ctx.output_integers()[i];
    if (!integers) continue;
    auto tensor = tensor_of(*integers, result.types[i]);
    result.known[i] = std::make_shared<const Known>(Known{std::move(tensor), std::move(integers)});
  }
  return result;
}

}  // namespace scanloom::ir
