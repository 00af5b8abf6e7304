#include "results.h"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <scanloom/options.h>

#include "errors.h"
#include "text.h"

namespace scanloom::python {
namespace {

using dlpack_code = nb::dlpack::dtype_code;

/// Returns the numpy dtype of the elements; types that only ml_dtypes has start out as bytes.
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

}  // namespace

// The approximate overhead of an array or string in Python; strings this long are deduplicated.
constexpr std::size_t kObjectBytes = 64;
constexpr std::size_t kLongText = 64;
/// The number of bytes to use before asking the system for its free memory, which takes longer
/// than a short run.
constexpr std::int64_t kUnmeasured = std::int64_t{64} << 20;

Converter::Converter(std::int64_t max_memory)
    : whole_(max_memory > 0 ? max_memory : kUnmeasured),
      left_(whole_),
      is_measured_(max_memory > 0) {}

void Converter::charge(std::size_t bytes) {
  if (!is_measured_ && bytes > static_cast<std::size_t>(left_)) {
    is_measured_ = true;
    const std::int64_t taken = whole_ - left_;
    whole_ = std::max(default_max_memory(), kUnmeasured);
    left_ = whole_ - taken;
  }
  if (bytes > static_cast<std::size_t>(left_))
    raise(Error(Code::limit_reached, "a result needs " + std::to_string(bytes) +
                                         " more bytes in Python, but " + std::to_string(left_) +
                                         " of the memory budget of " + std::to_string(whole_) +
                                         " bytes are left")
              .note("raise it with the option max_memory"));
  left_ -= static_cast<std::int64_t>(bytes);
}

/// Returns memory that only the array owns: the value's own if it is not shared, otherwise a copy.
std::shared_ptr<const void> Converter::own_memory(Value& value) {
  const std::size_t bytes = value.bytes();
  std::shared_ptr<const void> memory = value.owner();
  value = Value();
  if (bytes > 0 && memory.use_count() == 1) return memory;
  charge(bytes);
  std::shared_ptr<std::byte[]> copy(
      new (std::align_val_t(64)) std::byte[bytes + 1],
      [](std::byte* at) { ::operator delete[](at, std::align_val_t(64)); });
  if (bytes > 0) std::memcpy(copy.get(), memory.get(), bytes);
  return copy;
}

nb::list Converter::to_list(Value value) {
  // Release the list that held the items, so that items that occur once need not be copied.
  std::vector<Value> items(value.items().begin(), value.items().end());
  value = Value();
  nb::list objects;
  for (Value& item : items) {
    charge(kObjectBytes);
    objects.append(to_object(std::move(item)));
  }
  return objects;
}

nb::object Converter::to_text(std::string_view bytes) {
  charge(kObjectBytes);
  if (bytes.size() < kLongText) return text(bytes);
  nb::object& known = texts_[{bytes.data(), bytes.size()}];
  if (!known.is_valid()) {
    charge(bytes.size());
    known = text(bytes);
  }
  return known;
}

nb::object Converter::to_texts(const Value& value) {
  nb::list texts;
  for (const std::string_view one : value.strings()) texts.append(to_text(one));
  nb::list shape;
  for (const std::int64_t size : value.shape()) shape.append(size);
  return nb::module_::import_("scanloom._arrays").attr("objects")(texts, shape);
}

nb::object Converter::to_array(Value value) {
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

// Recurses over the type of the output, which is at most eight levels deep.
nb::object Converter::to_object(Value value) {
  switch (value.kind()) {
    case ValueKind::tensor:
      return to_array(std::move(value));
    case ValueKind::sequence:
      return to_list(std::move(value));
    case ValueKind::optional:
      break;
  }
  if (value.items().empty()) return nb::none();
  Value held = value.items()[0];
  value = Value();
  return to_object(std::move(held));
}

}  // namespace scanloom::python
