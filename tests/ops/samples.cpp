#include "tests/ops/samples.h"

#include <cstdlib>
#include <cstring>

#include "ir/infer.h"
#include "tests/ops/real_bits.h"

namespace scanloom::ops {
namespace {

// Our own mistakes in a literal: there is no test to fail yet, and no sample worth running.
void require(bool right) {
  if (!right) std::abort();
}

/// bits_of(i): the bits of element i.
template <class BitsOf>
Tensor filled(DType dtype, const Shape& shape, std::size_t count, const BitsOf& bits_of) {
  Tensor tensor = Tensor::zeros(dtype, shape).value_or_throw();
  require(static_cast<std::size_t>(tensor.elements()) == count);
  const std::size_t bytes = dtype_bytes(dtype);
  auto* to = static_cast<std::byte*>(tensor.mutable_data());
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bits = bits_of(i);
    std::memcpy(to + i * bytes, &bits, bytes);
  }
  return tensor;
}

// Integers narrower than a byte: their value, extended to the byte that stores them.
std::uint64_t integer_bits(DType dtype, std::int64_t value) {
  const int unused = 64 - dtype_file_bits(dtype);
  const auto top = static_cast<std::uint64_t>(value) << unused;
  if (dtype_kind(dtype) == DTypeKind::unsigned_int) return top >> unused;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(top) >> unused);
}

}  // namespace

Tensor floats(DType dtype, const Shape& shape, std::initializer_list<double> values) {
  return filled(dtype, shape, values.size(),
                [&](std::size_t i) { return encode_real(dtype, values.begin()[i]); });
}
Tensor f32(const Shape& shape, std::initializer_list<double> values) {
  return floats(DType::f32, shape, values);
}
Tensor f64(const Shape& shape, std::initializer_list<double> values) {
  return floats(DType::f64, shape, values);
}

Tensor integers(DType dtype, const Shape& shape, std::initializer_list<std::int64_t> values) {
  return filled(dtype, shape, values.size(),
                [&](std::size_t i) { return integer_bits(dtype, values.begin()[i]); });
}
Tensor i64(const Shape& shape, std::initializer_list<std::int64_t> values) {
  return integers(DType::i64, shape, values);
}
Tensor i32(const Shape& shape, std::initializer_list<std::int64_t> values) {
  return integers(DType::i32, shape, values);
}
Tensor u8(const Shape& shape, std::initializer_list<std::int64_t> values) {
  return integers(DType::u8, shape, values);
}

Tensor booleans(const Shape& shape, std::initializer_list<bool> values) {
  return filled(DType::boolean, shape, values.size(),
                [&](std::size_t i) { return std::uint64_t{values.begin()[i]}; });
}

Tensor strings(const Shape& shape, std::initializer_list<const char*> values) {
  const std::vector<std::string> texts(values.begin(), values.end());
  return Tensor::of_strings(shape, texts).value_or_throw();
}

Tensor counted(DType dtype, const Shape& shape) {
  return filled(dtype, shape, static_cast<std::size_t>(shape.elements()), [&](std::size_t i) {
    return is_floating_point(dtype) ? encode_real(dtype, static_cast<double>(i))
                                    : integer_bits(dtype, static_cast<std::int64_t>(i));
  });
}

ObjectRef sequence(std::initializer_list<Datum> items) {
  require(items.size() > 0);
  ObjectRef made = ObjectRef::sequence(items.begin()->object->dtype());
  for (const Datum& item : items) made->push_back(item.object);
  return made;
}

ObjectRef optional_of(const Datum& item) { return ObjectRef::optional_of(item.object); }

tensor::Type Datum::type() const {
  if (object->is_tensor()) return tensor::Type::of(dtype(), shape());
  if (object->kind() == tensor::ObjectKind::map) {
    tensor::Type map = Datum(object->items()[1]).type();
    map.wraps = {tensor::map_from(object->items()[0]->dtype())};
    return map;
  }
  tensor::DimTable dims;
  tensor::Type type = tensor::Type::unranked(object->dtype());
  for (const ObjectRef& item : object->items()) {
    const tensor::Type one = Datum(item).type();
    type = &item == object->items().data() ? one : ir::join(type, one, dims);
  }
  const bool is_sequence = object->kind() == tensor::ObjectKind::sequence;
  type.wraps.insert(type.wraps.begin(),
                    is_sequence ? tensor::Wrap::sequence : tensor::Wrap::optional);
  // Sizes that differ belong to no table of symbols.
  for (const tensor::Dim dim : type.dims)
    if (!dim.is_constant()) {
      type.ranked = false;
      type.dims.clear();
      break;
    }
  return type;
}

}  // namespace scanloom::ops
