// The C interface: values over the caller's memory, copies, results.
#include <cstring>
#include <optional>
#include <utility>

#include "api/c_api.h"
#include "tensor/tensor.h"

namespace scanloom::c_api {
namespace {

Expected<DType> known_dtype(scanloom_dtype dtype) {
  const std::optional<DType> known = dtype_from_onnx_number(dtype);
  if (!known) return fail(Code::invalid_argument, "unknown element type {}", dtype);
  return *known;
}

Expected<std::int64_t> element_count(const std::int64_t* sizes, size_t rank) {
  if (rank > static_cast<size_t>(tensor::kMaxRank))
    return fail(Code::invalid_argument, "the value has rank {}, but the limit is {}", rank,
                tensor::kMaxRank);
  if (rank > 0) SCANLOOM_CHECK_OK(require(sizes, "shape"));
  const tensor::Shape shape{std::span(sizes, rank)};
  const std::optional<std::int64_t> elements = shape.checked_elements();
  if (!elements)
    return fail(Code::invalid_argument,
                "the value has sizes {}: one is negative, or they make more than 2^40 elements",
                shape.to_string());
  return *elements;
}

/// The tensor described by the arguments, as a view with checked sizes.
Expected<scanloom_value> describe(scanloom_dtype dtype, const std::int64_t* sizes, size_t rank,
                                  const void* data, const std::int64_t* strides) {
  SCANLOOM_TRY(const DType known, known_dtype(dtype));
  if (known == DType::string)
    return fail(Code::invalid_argument, "use scanloom_value_strings for tensors of strings");
  SCANLOOM_TRY(const std::int64_t elements, element_count(sizes, rank));
  scanloom_value value;
  value.view.dtype = known;
  value.view.shape.assign(sizes, sizes + rank);
  value.view.data = data;
  if (strides != nullptr) value.view.strides.assign(strides, strides + rank);
  value.elements = elements;
  return value;
}

/// Copies the elements in row-major order; the source may be strided and unaligned.
void gather(const scanloom_value& from, std::byte* to) {
  const std::size_t width = dtype_bytes(from.view.dtype);
  const auto* data = static_cast<const std::byte*>(from.view.data);
  if (from.view.strides.empty()) {
    std::memcpy(to, data, width * static_cast<std::size_t>(from.elements));
    return;
  }
  std::vector<std::int64_t> index(from.view.shape.size(), 0);
  std::int64_t offset = 0;  // in elements, of the element at `index`
  for (std::int64_t i = 0; i < from.elements; ++i, to += width) {
    std::memcpy(to, data + offset * static_cast<std::int64_t>(width), width);
    for (std::size_t axis = index.size(); axis-- > 0;) {
      offset += from.view.strides[axis];
      if (++index[axis] < from.view.shape[axis]) break;
      offset -= from.view.strides[axis] * from.view.shape[axis];
      index[axis] = 0;
    }
  }
}

Expected<scanloom_value> copy(scanloom_value from) {
  const tensor::Shape shape{std::span<const std::int64_t>(from.view.shape)};
  SCANLOOM_TRY(tensor::Tensor copy, tensor::Tensor::zeros(from.view.dtype, shape));
  if (from.view.data != nullptr && from.elements > 0)
    gather(from, static_cast<std::byte*>(copy.mutable_data()));
  from.view.data = copy.data();
  from.view.strides.clear();
  from.view.owner = std::shared_ptr<const void>(copy.owner(), copy.data());
  return from;
}

Expected<void> check_map(const View& keys, const View& values) {
  for (const auto& [view, name] : {std::pair(&keys, "keys"), std::pair(&values, "values")}) {
    if (view->kind != ValueKind::tensor)
      return fail(Code::invalid_argument, "the {} of a map are no tensor", name);
    if (view->shape.size() != 1)
      return fail(Code::invalid_argument, "the {} of a map have {} axes, not 1", name,
                  view->shape.size());
  }
  if (keys.dtype != DType::i64 && keys.dtype != DType::string)
    return fail(Code::invalid_argument, "the keys of a map are {}, not i64 or string",
                dtype_name(keys.dtype));
  if (keys.shape[0] != values.shape[0])
    return fail(Code::invalid_argument, "a map has {} keys, but {} values", keys.shape[0],
                values.shape[0]);
  return {};
}

}  // namespace

scanloom_value* make_value(View view) {
  const bool is_tensor = view.kind == ValueKind::tensor;
  const std::int64_t elements =
      is_tensor ? tensor::Shape(std::span<const std::int64_t>(view.shape)).elements() : 0;
  return new scanloom_value{std::move(view), elements};
}

scanloom_value* make_value(const Value& value) { return make_value(value.view()); }

}  // namespace scanloom::c_api

extern "C" {

scanloom_code scanloom_value_view(scanloom_dtype dtype, const int64_t* shape, size_t rank,
                                  const void* data, const int64_t* strides, scanloom_value** value,
                                  scanloom_error** error) {
  using namespace scanloom;
  if (value != nullptr) *value = nullptr;
  return c_api::protect(error, [&]() -> Expected<void> {
    SCANLOOM_CHECK_OK(c_api::require(value, "value"));
    SCANLOOM_TRY(scanloom_value made, c_api::describe(dtype, shape, rank, data, strides));
    if (made.elements > 0) SCANLOOM_CHECK_OK(c_api::require(data, "data"));
    *value = new scanloom_value(std::move(made));
    return {};
  });
}

scanloom_code scanloom_value_copy(scanloom_dtype dtype, const int64_t* shape, size_t rank,
                                  const void* data, const int64_t* strides, scanloom_value** value,
                                  scanloom_error** error) {
  using namespace scanloom;
  if (value != nullptr) *value = nullptr;
  return c_api::protect(error, [&]() -> Expected<void> {
    SCANLOOM_CHECK_OK(c_api::require(value, "value"));
    SCANLOOM_TRY(scanloom_value seen, c_api::describe(dtype, shape, rank, data, strides));
    SCANLOOM_TRY(scanloom_value made, c_api::copy(std::move(seen)));
    *value = new scanloom_value(std::move(made));
    return {};
  });
}

scanloom_code scanloom_value_strings(const char* const* texts, const int64_t* shape, size_t rank,
                                     scanloom_value** value, scanloom_error** error) {
  using namespace scanloom;
  if (value != nullptr) *value = nullptr;
  return c_api::protect(error, [&]() -> Expected<void> {
    SCANLOOM_CHECK_OK(c_api::require(value, "value"));
    SCANLOOM_TRY(const std::int64_t count, c_api::element_count(shape, rank));
    if (count > 0) SCANLOOM_CHECK_OK(c_api::require(texts, "texts"));
    std::vector<std::string> copies;
    for (std::int64_t i = 0; i < count; ++i) {
      if (texts[i] == nullptr) return fail(Code::invalid_argument, "string {} is NULL", i);
      copies.emplace_back(texts[i]);
    }
    *value = c_api::make_value(strings(copies, std::vector<std::int64_t>(shape, shape + rank)));
    return {};
  });
}

scanloom_code scanloom_value_sequence(const scanloom_value* const* items, size_t count,
                                      scanloom_dtype dtype, scanloom_value** value,
                                      scanloom_error** error) {
  using namespace scanloom;
  if (value != nullptr) *value = nullptr;
  return c_api::protect(error, [&]() -> Expected<void> {
    SCANLOOM_CHECK_OK(c_api::require(value, "value"));
    SCANLOOM_TRY(const DType elements, c_api::known_dtype(dtype));
    if (count > 0) SCANLOOM_CHECK_OK(c_api::require(items, "items"));
    std::vector<View> views;
    for (size_t i = 0; i < count; ++i) {
      if (items[i] == nullptr) return fail(Code::invalid_argument, "item {} is NULL", i);
      views.push_back(items[i]->view);
    }
    *value = c_api::make_value(sequence(std::move(views), elements));
    return {};
  });
}

scanloom_code scanloom_value_map(const scanloom_value* keys, const scanloom_value* values,
                                 scanloom_value** value, scanloom_error** error) {
  using namespace scanloom;
  if (value != nullptr) *value = nullptr;
  return c_api::protect(error, [&]() -> Expected<void> {
    SCANLOOM_CHECK_OK(c_api::require(value, "value"));
    SCANLOOM_CHECK_OK(c_api::require(keys, "keys"));
    SCANLOOM_CHECK_OK(c_api::require(values, "values"));
    SCANLOOM_CHECK_OK(c_api::check_map(keys->view, values->view));
    *value = c_api::make_value(map(keys->view, values->view));
    return {};
  });
}

scanloom_code scanloom_value_none(scanloom_dtype dtype, scanloom_value** value,
                                  scanloom_error** error) {
  using namespace scanloom;
  if (value != nullptr) *value = nullptr;
  return c_api::protect(error, [&]() -> Expected<void> {
    SCANLOOM_CHECK_OK(c_api::require(value, "value"));
    SCANLOOM_TRY(const DType elements, c_api::known_dtype(dtype));
    *value = c_api::make_value(none(elements));
    return {};
  });
}

scanloom_kind scanloom_value_kind(const scanloom_value* value) {
  return static_cast<scanloom_kind>(value->view.kind);
}

size_t scanloom_value_item_count(const scanloom_value* value) { return value->view.items.size(); }

scanloom_code scanloom_value_item(const scanloom_value* value, size_t index, scanloom_value** item,
                                  scanloom_error** error) {
  using namespace scanloom;
  if (item != nullptr) *item = nullptr;
  return c_api::protect(error, [&]() -> Expected<void> {
    SCANLOOM_CHECK_OK(c_api::require(value, "value"));
    SCANLOOM_CHECK_OK(c_api::require(item, "item"));
    if (index >= value->view.items.size())
      return fail(Code::invalid_argument, "there is no item {}: the value has {} items", index,
                  value->view.items.size());
    *item = c_api::make_value(value->view.items[index]);
    return {};
  });
}

const char* scanloom_value_string(const scanloom_value* value, int64_t index, size_t* length) {
  const scanloom::View& view = value->view;
  const bool is_text = view.kind == scanloom::ValueKind::tensor &&
                       view.dtype == scanloom::DType::string && view.strides.empty();
  if (!is_text || index < 0 || index >= value->elements) return nullptr;
  const scanloom::StringRef& text = static_cast<const scanloom::StringRef*>(view.data)[index];
  if (length != nullptr) *length = static_cast<size_t>(text.size);
  return text.data != nullptr ? text.data : "";
}

scanloom_dtype scanloom_value_dtype(const scanloom_value* value) {
  return scanloom::dtype_onnx_number(value->view.dtype);
}

size_t scanloom_value_rank(const scanloom_value* value) { return value->view.shape.size(); }

const int64_t* scanloom_value_shape(const scanloom_value* value) {
  static constexpr int64_t kNoSizes[1] = {};
  return value->view.shape.empty() ? kNoSizes : value->view.shape.data();
}

int64_t scanloom_value_elements(const scanloom_value* value) { return value->elements; }

size_t scanloom_value_bytes(const scanloom_value* value) {
  if (value->view.dtype == scanloom::DType::string) return 0;
  return static_cast<size_t>(value->elements) * scanloom::dtype_bytes(value->view.dtype);
}

const void* scanloom_value_data(const scanloom_value* value) {
  return value->view.dtype == scanloom::DType::string ? nullptr : value->view.data;
}

void scanloom_value_free(scanloom_value* value) { delete value; }

size_t scanloom_dtype_bytes(scanloom_dtype dtype) {
  const auto known = scanloom::dtype_from_onnx_number(dtype);
  return known && *known != scanloom::DType::string ? scanloom::dtype_bytes(*known) : 0;
}

// The names are literals, so their views end with a zero byte.
const char* scanloom_dtype_name(scanloom_dtype dtype) {
  const auto known = scanloom::dtype_from_onnx_number(dtype);
  return known ? scanloom::dtype_onnx_name(*known).data() : "unknown";
}

}  // extern "C"
