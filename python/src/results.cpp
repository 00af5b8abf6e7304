#include "results.h"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <set>
#include <span>
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

/// The memory that was counted. Items share theirs with few others, or with those just before them:
/// maps of one node have the same keys, and values that are rows of one tensor.
class Counted {
 public:
  /// Returns whether this is the first time.
  bool insert(const void* memory) {
    if (std::ranges::find(latest_, memory) != latest_.end()) return false;
    latest_[next_++ % latest_.size()] = memory;
    return all_.insert(memory).second;
  }

 private:
  std::array<const void*, 2> latest_ = {};
  std::size_t next_ = 0;
  std::set<const void*> all_;
};

/// Adds the memory of the value to `bytes`, unless it was counted.
// Recurses over the type of the output, which is at most eight levels deep.
void add_bytes(const Value& value, Counted& seen, std::int64_t& bytes) {
  for (const Value& item : value.items()) add_bytes(item, seen, bytes);
  if (value.bytes() == 0 || !seen.insert(value.owner().get())) return;
  bytes += static_cast<std::int64_t>(value.bytes());
  if (value.dtype() != DType::string) return;
  for (const StringRef& text : value.as<StringRef>()) bytes += text.size;
}

std::int64_t bytes_of(std::span<const Value> values) {
  std::int64_t bytes = 0;
  // A few tensors are counted without allocating, which would take a noticeable part of short runs.
  constexpr std::size_t kFew = 8;
  const auto is_plain = [](const Value& value) {
    return value.items().empty() && value.dtype() != DType::string;
  };
  if (values.size() <= kFew && std::ranges::all_of(values, is_plain)) {
    for (std::size_t i = 0; i < values.size(); ++i)
      if (std::none_of(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(i),
                       [&](const Value& other) { return other.owner() == values[i].owner(); }))
        bytes += static_cast<std::int64_t>(values[i].bytes());
    return bytes;
  }
  Counted seen;
  for (const Value& value : values) add_bytes(value, seen, bytes);
  return bytes;
}

/// The approximate overhead of an array or string in Python; strings this long are deduplicated.
constexpr std::size_t kObjectBytes = 64;
constexpr std::size_t kLongText = 64;
/// The references to an element of an array of strings: in a list, and in the array.
constexpr std::size_t kReferences = 2 * sizeof(void*);
/// The number of bytes to use before asking the system for its free memory, which takes longer
/// than a short run.
constexpr std::int64_t kUnmeasured = std::int64_t{64} << 20;

std::size_t characters_of(std::string_view utf8) {
  return static_cast<std::size_t>(std::ranges::count_if(
      utf8, [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }));
}

/// Returns the bytes of a str, rounded up as its allocator does. All its characters are as wide as
/// the widest.
std::size_t bytes_of_text(std::string_view utf8) {
  unsigned char widest = 0;
  for (const char byte : utf8) widest = std::max(widest, static_cast<unsigned char>(byte));
  // Python shares the strings of one character.
  if (widest < 0x80) return utf8.size() < 2 ? 0 : kObjectBytes + utf8.size();
  const std::size_t width = widest >= 0xf0 ? 4 : widest >= 0xc4 ? 2 : 1;
  return kObjectBytes + 32 + characters_of(utf8) * width;
}

}  // namespace

Converter::Converter(std::int64_t max_memory, std::span<const Value> results)
    : held_(bytes_of(results)),
      whole_(max_memory > 0 ? max_memory : kUnmeasured),
      left_(max_memory > 0 ? std::max<std::int64_t>(max_memory - held_, 0) : kUnmeasured),
      is_measured_(max_memory > 0) {}

void Converter::charge(std::size_t bytes) {
  if (!is_measured_ && bytes > static_cast<std::size_t>(left_)) {
    is_measured_ = true;
    whole_ = std::max(default_max_memory(), kUnmeasured);
    left_ = whole_ - made_;
  }
  if (bytes > static_cast<std::size_t>(std::max<std::int64_t>(left_, 0)))
    raise(Error(Code::limit_reached, "a result needs " + std::to_string(bytes) +
                                         " more bytes in Python, but " + std::to_string(left_) +
                                         " of the memory budget of " + std::to_string(whole_) +
                                         " bytes are left")
              .note("raise it with the option max_memory"));
  left_ -= static_cast<std::int64_t>(bytes);
  made_ += static_cast<std::int64_t>(bytes);
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

/// Returns an element as a Python number or string.
nb::object Converter::to_number(const Value& tensor, std::int64_t index) {
  const auto at = static_cast<std::size_t>(index);
  switch (tensor.dtype()) {
    case DType::string:
      return to_text(tensor.as<StringRef>()[at].view());
    case DType::f32:
      return nb::float_(tensor.as<float>()[at]);
    case DType::f64:
      return nb::float_(tensor.as<double>()[at]);
    case DType::i64:
      return nb::int_(tensor.as<std::int64_t>()[at]);
    default:
      break;
  }
  // Other types have no Python number of their own: an item of an array.
  return to_array(tensor).attr("item")(index);
}

nb::dict Converter::to_dict(const Value& map) {
  const Value &keys = map.items()[0], &values = map.items()[1];
  if (keys.data() != keys_at_) {
    keys_ = nb::list();
    charge(kReferences * static_cast<std::size_t>(keys.elements()));
    for (std::int64_t i = 0; i < keys.elements(); ++i) keys_.append(to_number(keys, i));
    keys_at_ = keys.data();
  }
  charge(kObjectBytes + 3 * kReferences * static_cast<std::size_t>(values.elements()));
  nb::dict made;
  for (std::int64_t i = 0; i < values.elements(); ++i)
    if (PyDict_SetItem(made.ptr(), PyList_GetItem(keys_.ptr(), static_cast<Py_ssize_t>(i)),
                       to_number(values, i).ptr()) != 0)
      nb::raise_python_error();
  return made;
}

nb::object Converter::make_text(std::string_view bytes) {
  const std::size_t likely = bytes_of_text(bytes);
  charge(likely);
  nb::object made = text(bytes);
  // Bytes that are not UTF-8 are written as four characters. The stable interface of Python tells
  // no character's width, but the size of the object.
  const auto length = static_cast<std::size_t>(PyUnicode_GetLength(made.ptr()));
  if (bytes.size() > 1 && length > characters_of(bytes)) {
    const auto size = nb::cast<std::size_t>(made.attr("__sizeof__")());
    if (size > likely) charge(size - likely);
  }
  return made;
}

nb::object Converter::to_text(std::string_view bytes) {
  if (bytes.size() < kLongText) return make_text(bytes);
  nb::object& known = texts_[{bytes.data(), bytes.size()}];
  if (!known.is_valid()) {
    charge(kObjectBytes);  // of the entry
    known = make_text(bytes);
  }
  return known;
}

nb::object Converter::to_texts(const Value& value) {
  const std::span<const StringRef> elements = value.as<StringRef>();
  charge(kReferences * elements.size());
  const nb::object texts = nb::steal(PyList_New(static_cast<Py_ssize_t>(elements.size())));
  if (!texts.is_valid()) nb::raise_python_error();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    nb::object element = to_text(elements[i].view());
    PyList_SetItem(texts.ptr(), static_cast<Py_ssize_t>(i), element.release().ptr());
  }
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
    case ValueKind::map:
      return to_dict(value);
    case ValueKind::optional:
      break;
  }
  if (value.items().empty()) return nb::none();
  Value held = value.items()[0];
  value = Value();
  return to_object(std::move(held));
}

namespace {

constexpr const char* kNoted = "_converted_bytes";  // 0: no objects besides the results

}  // namespace

void note_conversion(nb::handle owner, const Converter& converter) {
  // Also replaces the number of an earlier run by 0. Asking for a missing attribute takes longer
  // than some runs, so it is not done before any run of the process has made objects.
  static std::atomic<bool> has_noted{false};
  if (converter.bytes() > 0) has_noted = true;
  if (converter.bytes() > 0 || (has_noted && nb::hasattr(owner, kNoted)))
    nb::setattr(owner, kNoted, nb::int_(converter.bytes()));
}

nb::object explained(nb::handle owner, std::string text) {
  const auto bytes = nb::cast<double>(nb::getattr(owner, kNoted, nb::int_(0)));
  if (bytes > 0) {
    char line[128];
    const bool is_large = bytes >= 999.5e3;
    std::snprintf(line, sizeof line,
                  "memory %.3g %s for the results of such a run and the Python objects made of "
                  "them\n",
                  bytes / (is_large ? 1e6 : 1e3), is_large ? "MB" : "kB");
    text += line;
  }
  return python::text(text);
}

}  // namespace scanloom::python
