#include "results.h"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "errors.h"
#include "text.h"

namespace scanloom::python {
namespace {

using dlpack_code = nb::dlpack::dtype_code;

/// How numpy itself can hold the elements: types that only ml_dtypes has are bytes at first.
nb::dlpack::dtype plain_dtype(DType dtype) {
  const auto bits = static_cast<std::uint8_t>(8 * dtype_bytes(dtype));
  const auto make = [bits](dlpack_code code) {
    return nb::dlpack::dtype{static_cast<std::uint8_t>(code), bits, 1};
  };
  const auto is_one_of = [dtype](std::initializer_list<DType> dtypes) {
    return std::ranges::find(dtypes, dtype) != dtypes.end();
  };
  if (dtype == DType::boolean) return make(dlpack_code::Bool);
  if (is_one_of({DType::f16, DType::f32, DType::f64})) return make(dlpack_code::Float);
  if (is_one_of({DType::c64, DType::c128})) return make(dlpack_code::Complex);
  if (is_one_of({DType::i8, DType::i16, DType::i32, DType::i64})) return make(dlpack_code::Int);
  return make(dlpack_code::UInt);
}

bool is_plain(DType dtype) {
  const nb::dlpack::dtype plain = plain_dtype(dtype);
  return plain.code != static_cast<std::uint8_t>(dlpack_code::UInt) || dtype == DType::u8 ||
         dtype == DType::u16 || dtype == DType::u32 || dtype == DType::u64;
}

/// Memory that belongs to the array alone: the value's own where nobody else holds it.
std::shared_ptr<const void> own_memory(Value& value) {
  const std::size_t bytes = value.bytes();
  std::shared_ptr<const void> memory = value.owner();
  value = Value();
  if (bytes > 0 && memory.use_count() == 1) return memory;
  std::shared_ptr<std::byte[]> copy(
      new (std::align_val_t(64)) std::byte[bytes + 1],
      [](std::byte* at) { ::operator delete[](at, std::align_val_t(64)); });
  if (bytes > 0) std::memcpy(copy.get(), memory.get(), bytes);
  return copy;
}

/// Arrays of the items. Their memory is copied: the value still holds it.
nb::list to_list(const Value& value) {
  nb::list items;
  for (const Value& item : value.items()) items.append(to_object(item));
  return items;
}

nb::object to_texts(const Value& value) {
  nb::list texts;
  for (const std::string_view one : value.strings()) texts.append(text(one));
  nb::list shape;
  for (const std::int64_t size : value.shape()) shape.append(size);
  return nb::module_::import_("scanloom._arrays").attr("objects")(texts, shape);
}

nb::object to_array(Value value) {
  const DType dtype = value.dtype();
  if (dtype == DType::string) return to_texts(value);
  const std::vector<std::size_t> shape(value.shape().begin(), value.shape().end());
  auto* const memory = new std::shared_ptr<const void>(own_memory(value));
  const nb::capsule owner(
      memory, [](void* held) noexcept { delete static_cast<std::shared_ptr<const void>*>(held); });
  nb::ndarray<nb::numpy> array(const_cast<void*>(memory->get()), shape.size(), shape.data(), owner,
                               nullptr, plain_dtype(dtype));
  const nb::object plain = array.cast();
  if (is_plain(dtype)) return plain;
  return nb::module_::import_("scanloom._arrays")
      .attr("narrow")(plain, text(dtype_onnx_name(dtype)));
}

}  // namespace

// The depth of recursion is that of the output's type, of which eight levels are the most.
nb::object to_object(Value value) {
  switch (value.kind()) {
    case ValueKind::tensor:
      return to_array(std::move(value));
    case ValueKind::sequence:
      return to_list(value);
    case ValueKind::optional:
      break;
  }
  if (value.items().empty()) return nb::none();
  return to_object(value.items()[0]);
}

}  // namespace scanloom::python
