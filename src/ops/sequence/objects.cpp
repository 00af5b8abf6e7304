#include "ops/sequence/objects.h"

#include "ir/infer.h"

namespace scanloom::ops {

using tensor::Type;

Expected<Type> wrapped(const Type& item, tensor::Wrap wrap, const tensor::DimTable& dims) {
  if (item.wraps.size() == Type::kMaxWraps)
    return fail(Code::unsupported, "{} cannot be put in another {}: the limit is {} levels",
                to_string(item, dims), wrap_name(wrap), Type::kMaxWraps);
  Type type = item;
  type.wraps.insert(type.wraps.begin(), wrap);
  return type;
}

Type item_type(const Type& type) {
  Type item = type;
  item.wraps.erase(item.wraps.begin());
  return item;
}

Type any_item(ir::InferCtx& ctx, const Type& sequence) {
  Type item = item_type(sequence);
  for (tensor::Dim& dim : item.dims)
    if (!dim.is_constant()) dim = ctx.dims().fresh();
  return item;
}

Expected<Type> item_of_both(ir::InferCtx& ctx, const Type& items, const Type& item,
                            std::string_view what) {
  if (ir::same_kind(items, item)) return ir::join(items, item, ctx.dims());
  return invalid_model("{} is {}, but the items of the sequence are {}", what,
                       to_string(item, ctx.dims()), to_string(items, ctx.dims()));
}

Expected<std::int64_t> single_integer(const tensor::Tensor& tensor, std::string_view what) {
  if (tensor.elements() != 1)
    return fail(Code::invalid_argument, "{} has {} elements, but 1 is needed", what,
                tensor.elements());
  return tensor.dtype() == DType::i32 ? tensor.as<std::int32_t>()[0] : tensor.as<std::int64_t>()[0];
}

Expected<std::size_t> position(const tensor::ObjectCall& call, std::size_t i, std::size_t count,
                               std::size_t fallback) {
  if (!call.has(i)) return fallback;
  SCANLOOM_TRY(const std::int64_t given, single_integer(call.tensor(i), "the position"));
  const auto places = static_cast<std::int64_t>(count);
  if (given < -places || given >= places)
    return fail(Code::invalid_argument, "position {} is outside [{}, {})", given, -places, places);
  return static_cast<std::size_t>(given < 0 ? given + places : given);
}

}  // namespace scanloom::ops
