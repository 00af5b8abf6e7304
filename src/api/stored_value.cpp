// Values in ONNX's own form: the front-end's reader of tensors, and the lists around them.
#include <scanloom/stored_value.h>

#include <string_view>
#include <utility>
#include <vector>

#include "api/guard.h"
#include "api/impl.h"
#include "frontends/onnx/proto.h"
#include "frontends/onnx/tensor_data.h"
#include "frontends/onnx/wire.h"

namespace scanloom {
namespace {

/// Fields of SequenceProto and OptionalProto, which have the same numbers.
enum Field : std::uint32_t {
  kTensor = 3,
  kSparse = 4,
  kSequence = 5,
  kMap = 6,
  kOptional = 7,
};

constexpr int kMaxLevels = 16;

Expected<Value> read_tensor(std::string_view bytes) {
  SCANLOOM_TRY(const onnx::TensorProto proto, onnx::parse_tensor(bytes));
  // The bytes have no owner, so a tensor that would alias them is copied.
  onnx::TensorReader reader(nullptr, bytes, "");
  SCANLOOM_TRY(const tensor::Tensor tensor, reader.read(proto));
  return to_value(tensor);
}

/// A sequence, or an optional. The depth of recursion is limited by `level`.
Expected<Value> read_object(std::string_view bytes, ValueKind kind, DType dtype, int level) {
  if (level > kMaxLevels)
    return fail(Code::invalid_argument, "it is nested more than {} deep", kMaxLevels);
  const char* const what = kind == ValueKind::sequence ? "SequenceProto" : "OptionalProto";
  std::vector<Value> items;
  onnx::Wire wire(bytes);
  while (wire.next()) {
    const std::uint32_t field = wire.field();
    if (field == kSparse || field == kMap)
      return fail(Code::unsupported, "it holds a map or a sparse tensor");
    if (field > kOptional)
      return fail(Code::invalid_argument, "a {} has no field {}: is it a tensor?", what, field);
    if (field != kTensor && field != kSequence && field != kOptional) {
      wire.skip();
      continue;
    }
    const std::string_view inside = wire.view();
    if (!wire.ok()) break;
    SCANLOOM_TRY(
        Value item,
        field == kTensor
            ? read_tensor(inside)
            : read_object(inside, field == kSequence ? ValueKind::sequence : ValueKind::optional,
                          dtype, level + 1));
    dtype = item.dtype();
    items.push_back(std::move(item));
  }
  if (!wire.ok())
    return fail(Code::invalid_argument, "malformed bytes in a {}, {}", what, wire.mistake());
  if (kind == ValueKind::optional && items.size() > 1)
    return fail(Code::invalid_argument, "an OptionalProto holds {} values", items.size());
  return Value(kind, dtype, std::move(items));
}

}  // namespace

Expected<Value> parse_stored_value(std::span<const std::byte> bytes, const ValueInfo& info) {
  const std::string_view view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return guard([&] {
    return info.kind == ValueKind::tensor ? read_tensor(view)
                                          : read_object(view, info.kind, info.dtype, 0);
  });
}

}  // namespace scanloom
