#include <cstring>
#include <limits>
#include <string>
#include <unordered_map>

#include "ops/ops.h"
#include "ops/step_rules.h"
#include "ops/string/text.h"
#include "tensor/visit.h"

namespace scanloom::ops {
namespace {
namespace label_encode {

using tensor::Tensor;
using tensor::Type;

constexpr int kKeys = 0;
constexpr int kValues = 1;
constexpr int kDefault = 2;

Expected<void> infer(ir::InferCtx& ctx) {
  const Tensor &keys = ctx.attr(kKeys).tensor(), &values = ctx.attr(kValues).tensor();
  const Tensor& fallback = ctx.attr(kDefault).tensor();
  if (keys.elements() != values.elements())
    return invalid_model("there are {} keys, but {} values", keys.elements(), values.elements());
  if (fallback.elements() != 1 || fallback.dtype() != values.dtype())
    return invalid_model("the default is {}{}, but must be one {}", dtype_name(fallback.dtype()),
                         fallback.shape().to_string(), dtype_name(values.dtype()));
  if (keys.dtype() != ctx.dtype())
    return invalid_model("x is {}, but the keys are {}", dtype_name(ctx.dtype()),
                         dtype_name(keys.dtype()));
  Type type = ctx.in(0);
  type.dtype = values.dtype();
  ctx.set(0, std::move(type));
  return {};
}

/// Returns the key that equal elements share: text, or bytes with one zero and one NaN.
std::string_view key_of(const Tensor& tensor, std::int64_t i, std::byte* buffer) {
  const std::size_t size = dtype_bytes(tensor.dtype());
  const auto* element =
      static_cast<const std::byte*>(tensor.data()) + static_cast<std::size_t>(i) * size;
  if (tensor.dtype() == DType::string) return reinterpret_cast<const StringRef*>(element)->view();
  tensor::visit_dtype(tensor.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_floating_point_v<T>) {
      T value;
      std::memcpy(&value, element, sizeof value);
      if (value != value) value = std::numeric_limits<T>::quiet_NaN();
      if (value == 0) value = 0;
      std::memcpy(buffer, &value, sizeof value);
    } else {
      std::memcpy(buffer, element, sizeof(T));
    }
  });
  return {reinterpret_cast<const char*>(buffer), size};
}

/// Returns the index of each key; the last of equal keys wins.
std::unordered_map<std::string, std::int64_t> positions(const Tensor& keys) {
  std::unordered_map<std::string, std::int64_t> known;
  std::byte buffer[16];
  for (std::int64_t i = 0; i < keys.elements(); ++i)
    known[std::string(key_of(keys, i, buffer))] = i;
  return known;
}

Expected<void> run_objects(const tensor::ObjectCall& call) {
  const Tensor &x = call.tensor(0), &values = call.attrs[kValues].tensor();
  const auto known = positions(call.attrs[kKeys].tensor());
  const std::size_t size = dtype_bytes(values.dtype());
  SCANLOOM_CHECK_OK(call.memory.check(x.elements() * static_cast<std::int64_t>(size)));
  SCANLOOM_TRY(Tensor y, Tensor::zeros(values.dtype(), x.shape()));
  auto* const to = static_cast<std::byte*>(y.mutable_data());
  std::byte buffer[16];
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const auto found = known.find(std::string(key_of(x, i, buffer)));
    const Tensor& from = found == known.end() ? call.attrs[kDefault].tensor() : values;
    const auto at = static_cast<std::size_t>(found == known.end() ? 0 : found->second);
    std::memcpy(to + static_cast<std::size_t>(i) * size,
                static_cast<const std::byte*>(from.data()) + at * size, size);
  }
  SCANLOOM_CHECK_OK(call.memory.check(bytes_with_text(y)));
  SCANLOOM_TRY(Tensor own, tensor::with_own_strings(std::move(y)));
  return call.give(0, std::move(own));
}

}  // namespace label_encode
}  // namespace

constinit const ir::OpDef label_encode_op{
    .name = "label_encode",
    .doc = "For each element the value that stands where the key equal to it does, or the default.",
    .inputs = {{"x", ir::Accept::tensor}},
    .outputs = {"y"},
    .attrs = {{"keys", tensor::AttrKind::tensor},
              {"values", tensor::AttrKind::tensor},
              {"default", tensor::AttrKind::tensor}},
    .infer = label_encode::infer,
    .run_objects = label_encode::run_objects,
    .steps = {.axis = steps_unchanged},
};

}  // namespace scanloom::ops
