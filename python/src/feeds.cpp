#include "feeds.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "errors.h"
#include "text.h"

namespace scanloom::python {
namespace {

/// Parses the format of a buffer (in the notation of `struct`) as an element type. Accepts native
/// byte order only.
std::optional<DType> dtype_of_format(const char* format, Py_ssize_t size) {
  const std::string_view text = format == nullptr ? "B" : format;
  if (text == "Zf") return DType::c64;
  if (text == "Zd") return DType::c128;
  if (text.size() != 1) return std::nullopt;
  const auto of_size = [size](DType one, DType two, DType four, DType eight) {
    return size == 1 ? one : size == 2 ? two : size == 4 ? four : eight;
  };
  switch (text[0]) {
    case '?':
      return DType::boolean;
    case 'e':
      return DType::f16;
    case 'f':
      return DType::f32;
    case 'd':
      return DType::f64;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
      return of_size(DType::i8, DType::i16, DType::i32, DType::i64);
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
      return of_size(DType::u8, DType::u16, DType::u32, DType::u64);
    default:
      return std::nullopt;
  }
}

/// Returns the text between "head" and the last bracket; empty unless the type begins with head.
std::string_view inside(std::string_view type, std::string_view head) {
  if (!type.starts_with(head) || !type.ends_with(')')) return {};
  return type.substr(head.size(), type.size() - head.size() - 1);
}

std::optional<DType> dtype_of_name(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (dtype_onnx_name(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  return std::nullopt;
}

/// Returns the element type of the tensors in a type such as "seq(tensor(float))".
DType element_type(std::string_view type) {
  const std::size_t first = type.find("tensor(");
  if (first == std::string_view::npos) return DType::f32;
  const std::string_view rest = type.substr(first + 7);
  return dtype_of_name(rest.substr(0, rest.find(')'))).value_or(DType::f32);
}

/// Whether every element is aligned, so that kernels may read it in place. Where there is none,
/// numpy makes no copy that would be.
bool is_aligned(const Py_buffer& buffer, DType dtype) {
  if (buffer.len == 0) return true;
  const auto size = static_cast<Py_ssize_t>(dtype_bytes(dtype));
  const Py_ssize_t part = dtype_kind(dtype) == DTypeKind::complex ? size / 2 : size;
  if (reinterpret_cast<std::uintptr_t>(buffer.buf) % static_cast<std::size_t>(part) != 0)
    return false;
  return std::all_of(buffer.strides, buffer.strides + buffer.ndim,
                     [size](Py_ssize_t stride) { return stride % size == 0; });
}

/// Whether the exporter described the shape and strides: numpy's datetime scalars claim an axis
/// but give neither.
bool is_described(const Py_buffer& buffer) {
  return buffer.ndim == 0 || (buffer.shape != nullptr && buffer.strides != nullptr);
}

/// Returns ascii(value).
std::string written(nb::handle value) {
  const nb::object text = nb::steal(PyObject_ASCII(value.ptr()));
  if (!text.is_valid()) throw nb::python_error();
  return nb::cast<std::string>(text);
}

std::string name_of(nb::handle key) {
  Py_ssize_t size = 0;
  const char* const bytes =
      nb::isinstance<nb::str>(key) ? PyUnicode_AsUTF8AndSize(key.ptr(), &size) : nullptr;
  if (bytes != nullptr) return {bytes, static_cast<std::size_t>(size)};
  PyErr_Clear();
  raise(Error(Code::invalid_argument, "names of feeds must be strings, not " + written(key)));
}

}  // namespace

ArrayView::ArrayView(nb::handle value, const std::string& name, const ValueInfo* info)
    : ArrayView(value, name, info == nullptr ? std::string_view() : info->type) {}

ArrayView::ArrayView(nb::handle value, const std::string& name, std::string_view type) {
  read(value, name, type);
}

// Recurses over the type, which is at most eight levels deep.
void ArrayView::read(nb::handle value, const std::string& name, std::string_view type) {
  if (const std::string_view held = inside(type, "optional("); !held.empty()) {
    if (!value.is_none()) return read(value, name, held);
    view_ = none(element_type(held));
    return;
  }
  if (const std::string_view item = inside(type, "seq("); !item.empty())
    return read_items(value, name, item);
  if (const std::string_view map = inside(type, "map("); !map.empty())
    return read_map(value, name, map);
  if (type == "tensor(string)") return read_texts(value, name);
  if (read_buffer(value)) return;
  const std::string_view wanted = inside(type, "tensor(");
  const nb::object pair =
      nb::module_::import_("scanloom._arrays").attr("plain")(value, text(name), text(wanted));
  const auto dtype_text = nb::cast<std::string>(pair[1]);
  if (!read_buffer(pair[0]))
    raise(Error(Code::invalid_argument, "feed '" + name + "' cannot be read as a tensor"));
  view_.dtype = dtype_of_name(dtype_text).value_or(view_.dtype);
}

void ArrayView::read_items(nb::handle value, const std::string& name, std::string_view type) {
  if (!nb::isinstance<nb::list>(value) && !nb::isinstance<nb::tuple>(value))
    raise(Error(Code::invalid_argument, "feed '" + name + "' is a " + written(value.type()) +
                                            ", but must be a list for a sequence"));
  view_ = sequence({}, element_type(type));
  for (const nb::handle item : value) {
    const std::string item_name = name + "[" + std::to_string(items_.size()) + "]";
    view_.items.push_back(items_.emplace_back(item, item_name, type).view());
  }
}

/// `type` is that of keys and values: "string,tensor(float)".
void ArrayView::read_map(nb::handle value, const std::string& name, std::string_view type) {
  if (!nb::isinstance<nb::dict>(value))
    raise(Error(Code::invalid_argument, "feed '" + name + "' is a " + written(value.type()) +
                                            ", but must be a dict for a map"));
  const auto all = nb::borrow<nb::dict>(value);
  const std::size_t comma = type.find(',');
  const std::string keys = "tensor(" + std::string(type.substr(0, comma)) + ")";
  const auto read_list = [&](const nb::list& list, const char* what, std::string_view of) {
    return items_.emplace_back(list, std::string(what) + " of " + name, of).view();
  };
  const View keys_view = read_list(all.keys(), "keys", keys);
  view_ = map(keys_view, read_list(all.values(), "values", type.substr(comma + 1)));
}

void ArrayView::read_texts(nb::handle value, const std::string& name) {
  const nb::object pair = nb::module_::import_("scanloom._arrays").attr("texts")(value, text(name));
  struct Storage {
    std::vector<StringRef> elements;
    std::unique_ptr<char[]> texts;
  };
  std::size_t bytes = 0;
  for (const nb::handle one : pair[0]) bytes += nb::cast<nb::bytes>(one).size();
  auto storage = std::make_shared<Storage>();
  storage->elements.reserve(nb::len(nb::object(pair[0])));
  storage->texts = std::make_unique_for_overwrite<char[]>(bytes);
  char* next = storage->texts.get();
  for (const nb::handle one : pair[0]) {
    const auto element = nb::cast<nb::bytes>(one);
    storage->elements.push_back({next, static_cast<std::int64_t>(element.size())});
    std::memcpy(next, element.c_str(), element.size());
    next += element.size();
  }
  std::vector<std::int64_t> shape;
  for (const nb::handle size : pair[1]) shape.push_back(nb::cast<std::int64_t>(size));
  const StringRef* const data = storage->elements.data();
  view_ = {DType::string, std::move(shape), data, {}, std::move(storage)};
}

ArrayView::~ArrayView() { PyBuffer_Release(&buffer_); }

bool ArrayView::read_buffer(nb::handle value) {
  if (!PyObject_CheckBuffer(value.ptr())) return false;
  if (PyObject_GetBuffer(value.ptr(), &buffer_, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
    PyErr_Clear();
    return false;
  }
  const std::optional<DType> dtype = dtype_of_format(buffer_.format, buffer_.itemsize);
  if (!dtype || !is_described(buffer_) || !is_aligned(buffer_, *dtype)) {
    PyBuffer_Release(&buffer_);
    return false;
  }
  view_.dtype = *dtype;
  view_.data = buffer_.buf;
  view_.shape.assign(buffer_.shape, buffer_.shape + buffer_.ndim);
  if (PyBuffer_IsContiguous(&buffer_, 'C') != 0) return true;
  for (int axis = 0; axis < buffer_.ndim; ++axis)
    view_.strides.push_back(buffer_.strides[axis] / buffer_.itemsize);
  return true;
}

const ValueInfo* find_input(std::span<const ValueInfo> inputs, const std::string& name) noexcept {
  const auto found = std::find_if(inputs.begin(), inputs.end(),
                                  [&](const ValueInfo& input) { return input.name == name; });
  if (found != inputs.end()) return &*found;
  for (const ValueInfo& input : inputs)
    if (std::find(input.aliases.begin(), input.aliases.end(), name) != input.aliases.end())
      return &input;
  return nullptr;
}

Feeds::Feeds(const nb::dict& arrays, std::span<const ValueInfo> inputs) {
  for (const auto& [key, value] : arrays) {
    const std::string& name = names_.emplace_back(name_of(key));
    const ArrayView& array = arrays_.emplace_back(value, name, find_input(inputs, name));
    feeds_.push_back({name, array.view()});
  }
}

}  // namespace scanloom::python
