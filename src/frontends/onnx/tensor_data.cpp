#include "frontends/onnx/tensor_data.h"

#include <cstring>
#include <limits>
#include <string>

#include "frontends/onnx/wire.h"

namespace scanloom::onnx {

using tensor::Shape;
using tensor::Tensor;

namespace {

Error wrong_count(const char* field, std::int64_t has, std::int64_t needs) {
  return invalid_model("its {} holds {} values, but its shape needs {}", field, has, needs);
}

/// Writes consecutive values into elements of T. Also counts values that do not fit.
template <class T>
class Filler {
 public:
  Filler(Tensor& tensor, std::int64_t count)
      : out_(static_cast<std::byte*>(tensor.mutable_data())), capacity_(count) {}

  void put(T value) {
    if (count_ < capacity_)
      std::memcpy(out_ + static_cast<std::size_t>(count_) * sizeof(T), &value, sizeof(T));
    ++count_;
  }
  [[nodiscard]] std::int64_t count() const { return count_; }

 private:
  std::byte* out_;
  std::int64_t capacity_;
  std::int64_t count_ = 0;
};

/// The fields of TensorProto that hold typed data.
enum class DataField : std::uint32_t {
  float_data = 4,
  int32_data = 5,
  string_data = 6,
  int64_data = 7,
  double_data = 10,
  uint64_data = 11,
};

const char* field_name(DataField field) {
  switch (field) {
    case DataField::float_data:
      return "float_data";
    case DataField::int32_data:
      return "int32_data";
    case DataField::string_data:
      return "string_data";
    case DataField::int64_data:
      return "int64_data";
    case DataField::double_data:
      return "double_data";
    case DataField::uint64_data:
      return "uint64_data";
  }
  return "";
}

/// Calls hand(wire) for every occurrence of the field.
template <class Hand>
Expected<void> each_occurrence(const TensorProto& proto, DataField field, Hand hand) {
  Wire wire(proto.bytes);
  while (wire.next()) {
    if (wire.field() == static_cast<std::uint32_t>(field))
      hand(wire);
    else
      wire.skip();
  }
  if (!wire.ok())
    return invalid_model("malformed bytes in its {}, {}", field_name(field), wire.mistake());
  return {};
}

template <class T>
Expected<void> fill_floats(const TensorProto& proto, DataField field, Tensor& tensor,
                           std::int64_t count) {
  Filler<T> filler(tensor, count);
  SCANLOOM_CHECK_OK(each_occurrence(proto, field, [&](Wire& wire) {
    wire.each_real<T>([&](T value) {
      filler.put(value);
      return true;
    });
  }));
  if (filler.count() != count) return wrong_count(field_name(field), filler.count(), count);
  return {};
}

/// Values outside [lowest, highest] are errors. Of other values, the low bytes are the element.
template <class T>
Expected<void> fill_integers(const TensorProto& proto, DataField field, Tensor& tensor,
                             std::int64_t lowest, std::int64_t highest) {
  const std::int64_t count = tensor.elements();
  Filler<T> filler(tensor, count);
  std::optional<std::int64_t> outside;
  SCANLOOM_CHECK_OK(each_occurrence(proto, field, [&](Wire& wire) {
    wire.each_integer([&](std::int64_t value) {
      if (value < lowest || value > highest) outside = outside.value_or(value);
      filler.put(static_cast<T>(value));
      return true;
    });
  }));
  if (filler.count() != count) return wrong_count(field_name(field), filler.count(), count);
  if (outside)
    return invalid_model("its {} holds {}, which is not a valid {}", field_name(field), *outside,
                         dtype_onnx_name(tensor.dtype()));
  return {};
}

template <class T>
Expected<void> fill_integers(const TensorProto& proto, DataField field, Tensor& tensor) {
  return fill_integers<T>(proto, field, tensor, std::numeric_limits<T>::min(),
                          std::numeric_limits<T>::max());
}

/// Elements of 2 and 4 bits: each entry of int32_data holds one packed byte.
Expected<void> fill_packed(const TensorProto& proto, Tensor& tensor) {
  std::string packed;
  SCANLOOM_CHECK_OK(each_occurrence(proto, DataField::int32_data, [&](Wire& wire) {
    wire.each_integer([&](std::int64_t value) {
      packed.push_back(static_cast<char>(value));
      return true;
    });
  }));
  const std::uint64_t needs = tensor::file_bytes(tensor.dtype(), tensor.elements());
  if (packed.size() != needs)
    return wrong_count("int32_data", static_cast<std::int64_t>(packed.size()),
                       static_cast<std::int64_t>(needs));
  tensor::unpack(tensor.dtype(), packed, tensor.elements(),
                 static_cast<std::uint8_t*>(tensor.mutable_data()));
  return {};
}

Expected<void> fill_typed(const TensorProto& proto, Tensor& tensor) {
  const std::int64_t count = tensor.elements();
  switch (tensor.dtype()) {
    case DType::f32:
      return fill_floats<float>(proto, DataField::float_data, tensor, count);
    case DType::c64:
      return fill_floats<float>(proto, DataField::float_data, tensor, 2 * count);
    case DType::f64:
      return fill_floats<double>(proto, DataField::double_data, tensor, count);
    case DType::c128:
      return fill_floats<double>(proto, DataField::double_data, tensor, 2 * count);
    case DType::i64:
      return fill_integers<std::int64_t>(proto, DataField::int64_data, tensor);
    case DType::u64:
      // A varint above 2^63 reads as negative; only its bits matter.
      return fill_integers<std::uint64_t>(proto, DataField::uint64_data, tensor,
                                          std::numeric_limits<std::int64_t>::min(),
                                          std::numeric_limits<std::int64_t>::max());
    case DType::u32:
      return fill_integers<std::uint32_t>(proto, DataField::uint64_data, tensor);
    case DType::i32:
      return fill_integers<std::int32_t>(proto, DataField::int32_data, tensor);
    case DType::i16:
      return fill_integers<std::int16_t>(proto, DataField::int32_data, tensor);
    case DType::i8:
      return fill_integers<std::int8_t>(proto, DataField::int32_data, tensor);
    case DType::u16:
    case DType::f16:
    case DType::bf16:
      return fill_integers<std::uint16_t>(proto, DataField::int32_data, tensor);
    case DType::u8:
    case DType::f8e4m3fn:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2:
    case DType::f8e5m2fnuz:
    case DType::f8e8m0:
      return fill_integers<std::uint8_t>(proto, DataField::int32_data, tensor);
    case DType::boolean:
      return fill_integers<std::uint8_t>(proto, DataField::int32_data, tensor, 0, 1);
    case DType::u4:
    case DType::i4:
    case DType::f4e2m1:
    case DType::u2:
    case DType::i2:
      return fill_packed(proto, tensor);
    case DType::string:
    case DType::u1:
    case DType::u3:
    case DType::u6:
    case DType::nf4:
      break;
  }
  return fail(Code::unsupported, "typed data of element type {}", dtype_name(tensor.dtype()));
}

/// Whether the typed fields are long enough for the elements: a value takes at least one byte, or
/// shares one with narrow elements (two of 4 bits, four of 2).
bool could_hold(const TensorProto& proto, DType dtype, std::int64_t elements) {
  const std::uint64_t per_byte = dtype_file_bits(dtype) == 0 || dtype_file_bits(dtype) >= 8
                                     ? 1
                                     : 8 / static_cast<unsigned>(dtype_file_bits(dtype));
  return static_cast<std::uint64_t>(elements) <= per_byte * proto.bytes.size();
}

Expected<Tensor> read_strings(const TensorProto& proto, const Shape& shape) {
  std::vector<std::string> values;
  SCANLOOM_CHECK_OK(each_occurrence(proto, DataField::string_data,
                                    [&](Wire& wire) { values.emplace_back(wire.view()); }));
  if (static_cast<std::int64_t>(values.size()) != shape.elements())
    return wrong_count("string_data", static_cast<std::int64_t>(values.size()), shape.elements());
  return Tensor::of_strings(shape, values);
}

Expected<Tensor> read_typed(const TensorProto& proto, DType dtype, const Shape& shape) {
  if (!could_hold(proto, dtype, shape.elements()))
    return invalid_model("it holds fewer than the {} values of its shape {}", shape.elements(),
                         shape.to_string());
  if (dtype == DType::string) return read_strings(proto, shape);
  SCANLOOM_TRY(Tensor tensor, Tensor::zeros(dtype, shape));
  SCANLOOM_CHECK_OK(fill_typed(proto, tensor));
  return tensor;
}

std::string describe(const TensorProto& proto) {
  return proto.name.empty() ? std::string("a tensor") : fmt::format("tensor '{}'", proto.name);
}

}  // namespace

Expected<DType> dtype_of_number(std::int64_t number) {
  if (const std::optional<DType> dtype = dtype_from_onnx_number(number)) return *dtype;
  return invalid_model("element type {} does not exist", number);
}

Expected<Tensor> TensorReader::once(const void* key,
                                    const std::function<Expected<Tensor>()>& make) {
  if (const auto found = made_.find(key); found != made_.end()) return found->second;
  SCANLOOM_TRY(Tensor tensor, make());
  made_.emplace(key, tensor);
  return tensor;
}

Expected<Tensor> TensorReader::read(const TensorProto& proto) {
  return once(&proto, [&] { return read_dense(proto); });
}

Expected<Tensor> TensorReader::read_dense(const TensorProto& proto) {
  const auto named = [&](Error error) { return std::move(error).at(describe(proto)); };
  if (proto.has_segment) return named(fail(Code::unsupported, "segmented data is not supported"));
  const Expected<DType> dtype = dtype_of_number(proto.data_type);
  if (!dtype) return named(dtype.error());
  const Expected<Shape> shape = tensor::shape_of(proto.dims);
  if (!shape) return named(shape.error());
  Expected<Tensor> tensor = [&]() -> Expected<Tensor> {
    if (proto.external) {
      SCANLOOM_TRY(tensor::OwnedBytes data, external_.find(proto));
      return tensor::tensor_of_raw(*dtype, *shape, std::move(data));
    }
    if (proto.has_raw) {
      const char* const raw_end = proto.raw.data() + proto.raw.size();
      return tensor::tensor_of_raw(*dtype, *shape,
                                   {owner_, proto.raw, static_cast<std::size_t>(end_ - raw_end)});
    }
    return read_typed(proto, *dtype, *shape);
  }();
  if (!tensor) return named(std::move(tensor).error());
  return tensor;
}

}  // namespace scanloom::onnx
