// Values in ONNX's own form: the front-end's reader of tensors, and the lists around them.
#include <scanloom/stored_value.h>

#include <cstring>
#include <string>
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

/// Fields of MapProto.
enum MapField : std::uint32_t { kKeyType = 2, kKeys = 3, kStringKeys = 4, kValues = 5 };

constexpr int kMaxLevels = 16;

Expected<Value> read_object(std::string_view bytes, ValueKind kind, DType dtype, int level);

Expected<Value> read_tensor(std::string_view bytes) {
  SCANLOOM_TRY(const onnx::TensorProto proto, onnx::parse_tensor(bytes));
  // The bytes have no owner, so a tensor that would alias them is copied.
  onnx::TensorReader reader(nullptr, bytes, "");
  SCANLOOM_TRY(const tensor::Tensor tensor, reader.read(proto));
  return to_value(tensor);
}

/// Puts tensors of one element in a row.
Expected<Value> in_a_row(const std::vector<Value>& elements, DType dtype) {
  const tensor::Shape shape = {static_cast<std::int64_t>(elements.size())};
  SCANLOOM_TRY(tensor::Tensor row, tensor::Tensor::zeros(dtype, shape));
  const std::size_t width = dtype_bytes(dtype);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (!elements[i].is_tensor() || elements[i].dtype() != dtype || elements[i].elements() != 1)
      return fail(Code::invalid_argument, "value {} of a MapProto is not one {}", i,
                  dtype_name(dtype));
    std::memcpy(static_cast<std::byte*>(row.mutable_data()) + i * width, elements[i].data(), width);
  }
  SCANLOOM_TRY(const tensor::Tensor own, tensor::with_own_strings(std::move(row)));
  return to_value(own);
}

/// A map: its keys, and a SequenceProto with the tensor of one value per key.
Expected<Value> read_map(std::string_view bytes, DType dtype, int level) {
  std::vector<std::int64_t> numbers;
  std::vector<std::string> texts;
  std::vector<Value> values;
  onnx::Wire wire(bytes);
  while (wire.next()) {
    if (wire.field() == kKeys) {
      wire.append(numbers);
    } else if (wire.field() == kStringKeys) {
      texts.emplace_back(wire.view());
    } else if (wire.field() == kValues) {
      const std::string_view inside = wire.view();
      if (!wire.ok()) break;
      SCANLOOM_TRY(const Value all, read_object(inside, ValueKind::sequence, dtype, level + 1));
      values.assign(all.items().begin(), all.items().end());
    } else {
      wire.skip();
    }
  }
  if (!wire.ok())
    return fail(Code::invalid_argument, "malformed bytes in a MapProto, {}", wire.mistake());
  const std::size_t keys = numbers.size() + texts.size();
  if (values.size() != keys || (!numbers.empty() && !texts.empty()))
    return fail(Code::invalid_argument, "a MapProto has {} keys, but {} values", keys,
                values.size());
  SCANLOOM_TRY(Value row, in_a_row(values, values.empty() ? dtype : values[0].dtype()));
  const tensor::Shape shape = {static_cast<std::int64_t>(keys)};
  SCANLOOM_TRY(const tensor::Tensor named,
               texts.empty() ? tensor::Tensor::copy_of(DType::i64, shape, numbers.data())
                             : tensor::Tensor::of_strings(shape, texts));
  SCANLOOM_TRY(Value listed, to_value(named));
  const DType held = row.dtype();
  return Value(ValueKind::map, held, {std::move(listed), std::move(row)});
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
    if (field == kSparse) return fail(Code::unsupported, "it holds a sparse tensor");
    if (field > kOptional)
      return fail(Code::invalid_argument, "a {} has no field {}: is it a tensor?", what, field);
    if (field != kTensor && field != kSequence && field != kMap && field != kOptional) {
      wire.skip();
      continue;
    }
    const std::string_view inside = wire.view();
    if (!wire.ok()) break;
    SCANLOOM_TRY(Value item, field == kTensor ? read_tensor(inside)
                             : field == kMap  ? read_map(inside, dtype, level + 1)
                                              : read_object(inside,
                                                           field == kSequence ? ValueKind::sequence
                                                                               : ValueKind::optional,
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
    if (info.kind == ValueKind::map) return read_map(view, info.dtype, 0);
    return info.kind == ValueKind::tensor ? read_tensor(view)
                                          : read_object(view, info.kind, info.dtype, 0);
  });
}

}  // namespace scanloom
