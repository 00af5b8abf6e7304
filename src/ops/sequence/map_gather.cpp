#include <cstring>
#include <string_view>
#include <unordered_map>

#include "ops/ops.h"
#include "ops/sequence/objects.h"

namespace scanloom::ops {
namespace {
namespace map_gather {

using tensor::Tensor;
using tensor::Type;

constexpr int kKeys = 0;

Expected<void> infer(ir::InferCtx& ctx) {
  const Tensor& keys = ctx.attr(kKeys).tensor();
  const DType wanted = key_dtype(ctx.in(0).wraps.front());
  if (keys.dtype() != wanted || keys.shape().rank() != 1)
    return invalid_model("the keys are {}{}, but those of the map are {}", dtype_name(keys.dtype()),
                         keys.shape().to_string(), dtype_name(wanted));
  ctx.set(0, ctx.in(0).dtype, {tensor::Dim(keys.elements())});
  return {};
}

std::int64_t hashable(std::int64_t key) { return key; }
std::string_view hashable(const StringRef& key) { return key.view(); }

/// Copies the value of each wanted key; the others stay zero or empty.
template <class Key>
void gather_values(std::span<const Key> wanted, std::span<const Key> keys, const Tensor& values,
                   std::byte* to) {
  std::unordered_map<decltype(hashable(Key())), std::size_t> positions;
  for (std::size_t i = 0; i < keys.size(); ++i) positions.emplace(hashable(keys[i]), i);
  const std::size_t size = dtype_bytes(values.dtype());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (const auto found = positions.find(hashable(wanted[i])); found != positions.end())
      std::memcpy(to + i * size,
                  static_cast<const std::byte*>(values.data()) + found->second * size, size);
}

Expected<void> run_objects(const tensor::ObjectCall& call) {
  const Tensor& wanted = call.attrs[kKeys].tensor();
  const Tensor& keys = call.inputs[0]->items()[0]->tensor();
  const Tensor& values = call.inputs[0]->items()[1]->tensor();
  const auto width = static_cast<std::int64_t>(dtype_bytes(values.dtype()));
  SCANLOOM_CHECK_OK(call.memory.check(wanted.elements() * width));
  SCANLOOM_TRY(Tensor y, Tensor::zeros(values.dtype(), wanted.shape()));
  auto* const to = static_cast<std::byte*>(y.mutable_data());
  if (wanted.dtype() == DType::string)
    gather_values(wanted.as<StringRef>(), keys.as<StringRef>(), values, to);
  else
    gather_values(wanted.as<std::int64_t>(), keys.as<std::int64_t>(), values, to);
  SCANLOOM_CHECK_OK(call.memory.check(bytes_with_text(y)));
  SCANLOOM_TRY(Tensor own, tensor::with_own_strings(std::move(y)));
  return call.give(0, std::move(own));
}

}  // namespace map_gather
}  // namespace

constinit const ir::OpDef map_gather_op{
    .name = "map_gather",
    .doc = "The values that a map has for the keys; 0 or an empty string for keys it lacks.",
    .inputs = {{"map", ir::Accept::map}},
    .outputs = {"y"},
    .attrs = {{"keys", tensor::AttrKind::tensor}},
    .infer = map_gather::infer,
    .run_objects = map_gather::run_objects,
};

}  // namespace scanloom::ops
