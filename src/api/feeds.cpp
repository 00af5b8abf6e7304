// Feeds: matched by name, of the declared type, present exactly once; strided ones are made
// row-major.
#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "api/impl.h"
#include "tensor/view.h"

namespace scanloom {
namespace {

std::string text_of(ValueKind kind, DType dtype) {
  const std::string elements(dtype_onnx_name(dtype));
  switch (kind) {
    case ValueKind::tensor:
      return elements;
    case ValueKind::sequence:
      return "a sequence of " + elements;
    case ValueKind::map:
      return "a map to " + elements;
    case ValueKind::optional:
      break;
  }
  return "an optional of " + elements;
}

/// Whether the value is one element whose rank differs from the input's: "[1]" for "[]", which
/// onnxruntime accepts, or "[]" for "[1]".
bool is_one_element(const ValueInfo& info, const View& value) {
  if (info.kind != ValueKind::tensor || value.kind != ValueKind::tensor || !info.ranked)
    return false;
  if (info.shape.empty())
    return !value.shape.empty() &&
           std::ranges::all_of(value.shape, [](auto size) { return size == 1; });
  return value.shape.empty() && info.shape.size() == 1 && info.shape[0].size == 1;
}

/// The fixed sizes of the type: "[?,3]".
std::string sizes_text(const tensor::Type& type) {
  std::string text;
  for (const tensor::Dim dim : type.dims)
    text += (text.empty() ? "" : ",") + (dim.is_constant() ? std::to_string(dim.value()) : "?");
  return "[" + text + "]";
}

/// The size of the only axis; -1 for other tensors, which then do not fit.
std::int64_t view_elements(const View& view) { return view.shape.size() == 1 ? view.shape[0] : -1; }

/// The order that sorts the keys of a map.
std::vector<std::size_t> order_of(const tensor::Tensor& keys) {
  std::vector<std::size_t> order(static_cast<std::size_t>(keys.elements()));
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto sort = [&](const auto& before) { std::ranges::sort(order, before); };
  if (keys.dtype() == DType::string)
    sort([all = keys.as<StringRef>()](std::size_t a, std::size_t b) {
      return all[a].view() < all[b].view();
    });
  else
    sort([all = keys.as<std::int64_t>()](std::size_t a, std::size_t b) { return all[a] < all[b]; });
  return order;
}

bool same_key(const tensor::Tensor& keys, std::size_t a, std::size_t b) {
  if (keys.dtype() == DType::string)
    return keys.as<StringRef>()[a].view() == keys.as<StringRef>()[b].view();
  return keys.as<std::int64_t>()[a] == keys.as<std::int64_t>()[b];
}

/// Returns the elements of a tensor with one axis in that order, in memory of its own.
Expected<tensor::Tensor> in_order(const tensor::Tensor& from,
                                  const std::vector<std::size_t>& order) {
  SCANLOOM_TRY(tensor::Tensor to, tensor::Tensor::zeros(from.dtype(), from.shape()));
  const std::size_t width = dtype_bytes(from.dtype());
  for (std::size_t i = 0; i < order.size(); ++i)
    std::memcpy(static_cast<std::byte*>(to.mutable_data()) + i * width,
                static_cast<const std::byte*>(from.data()) + order[i] * width, width);
  return tensor::with_own_strings(std::move(to));
}

/// A map with its keys in ascending order, which operators that read all values rely on.
Expected<tensor::ObjectRef> to_map(const View& view, const tensor::Type& type,
                                   std::string_view what) {
  if (view.items.size() != 2)
    return fail(Code::invalid_argument, "{} is a map with {} items, not keys and values", what,
                view.items.size());
  const tensor::Type keys_type =
      tensor::Type::of(key_dtype(type.wraps.front()), {tensor::Dim(view_elements(view.items[0]))});
  SCANLOOM_TRY(tensor::ObjectRef keys,
               to_object(view.items[0], keys_type, fmt::format("the keys of {}", what)));
  tensor::Type values_type = keys_type;
  values_type.dtype = type.dtype;
  SCANLOOM_TRY(tensor::ObjectRef values,
               to_object(view.items[1], values_type, fmt::format("the values of {}", what)));
  const std::vector<std::size_t> order = order_of(keys->tensor());
  for (std::size_t i = 1; i < order.size(); ++i)
    if (same_key(keys->tensor(), order[i - 1], order[i]))
      return fail(Code::invalid_argument, "{} has the same key at positions {} and {}", what,
                  order[i - 1], order[i]);
  if (std::ranges::is_sorted(order))
    return tensor::ObjectRef::map(std::move(keys), std::move(values));
  SCANLOOM_TRY(tensor::Tensor sorted_keys, in_order(keys->tensor(), order));
  SCANLOOM_TRY(tensor::Tensor sorted_values, in_order(values->tensor(), order));
  return tensor::ObjectRef::map(tensor::ObjectRef::of(std::move(sorted_keys)),
                                tensor::ObjectRef::of(std::move(sorted_values)));
}

}  // namespace

Expected<tensor::ObjectRef> to_object(const View& view, const tensor::Type& type,
                                      std::string_view what) {
  // Recursion is as deep as the type, at most eight levels.
  const auto wrong = [&](const tensor::Type& wanted) {
    return fail(
        Code::invalid_argument, "{} is {}, not {}", what, text_of(view.kind, view.dtype),
        text_of(wanted.is_tensor() ? ValueKind::tensor : value_kind(kind_of(wanted.wraps.front())),
                wanted.dtype));
  };
  if (type.is_tensor()) {
    if (view.kind != ValueKind::tensor || view.dtype != type.dtype) return wrong(type);
    SCANLOOM_TRY(tensor::Tensor tensor, tensor::tensor_of(view, what));
    tensor::ObjectRef object = tensor::ObjectRef::of(std::move(tensor));
    if (!allows(type, object))
      return fail(Code::invalid_argument, "{} has sizes {}, the model needs {}", what,
                  object->tensor().shape().to_string(), sizes_text(type));
    return object;
  }
  if (is_map(type.wraps.front())) {
    if (view.kind != ValueKind::map) return wrong(type);
    return to_map(view, type, what);
  }
  tensor::Type item = type;
  item.wraps.erase(item.wraps.begin());
  if (type.wraps.front() == tensor::Wrap::optional) {
    if (view.kind != ValueKind::optional) {
      SCANLOOM_TRY(tensor::ObjectRef held, to_object(view, item, what));
      return tensor::ObjectRef::optional_of(std::move(held));
    }
    if (view.items.size() > 1)
      return fail(Code::invalid_argument, "{} has {} items, but an optional holds at most 1", what,
                  view.items.size());
    if (view.items.empty()) return tensor::ObjectRef::optional(type.dtype);
    SCANLOOM_TRY(tensor::ObjectRef held, to_object(view.items[0], item, what));
    return tensor::ObjectRef::optional_of(std::move(held));
  }
  if (view.kind != ValueKind::sequence) return wrong(type);
  tensor::ObjectRef sequence = tensor::ObjectRef::sequence(type.dtype);
  for (std::size_t i = 0; i < view.items.size(); ++i) {
    SCANLOOM_TRY(tensor::ObjectRef made,
                 to_object(view.items[i], item, fmt::format("item {} of {}", i, what)));
    sequence->push_back(std::move(made));
  }
  return sequence;
}

std::string names_of(std::span<const ValueInfo> infos) {
  std::string names;
  for (const ValueInfo& info : infos) names += (names.empty() ? "" : ", ") + info.name;
  return names;
}

std::size_t find_by_name(std::span<const ValueInfo> infos, std::string_view name) {
  for (std::size_t i = 0; i < infos.size(); ++i)
    if (infos[i].name == name) return i;
  for (std::size_t i = 0; i < infos.size(); ++i)
    if (std::ranges::find(infos[i].aliases, name) != infos[i].aliases.end()) return i;
  return infos.size();
}

View with_axes(const ValueInfo& input, const View& feed) {
  View view = feed;
  if (!is_one_element(input, feed)) return view;
  view.shape.assign(input.shape.size(), 1);
  view.strides.clear();
  return view;
}

Expected<Arranged> Session::Impl::arrange(std::span<const Feed> feeds) const {
  std::vector<const Feed*> by_input(inputs.size(), nullptr);
  for (const Feed& feed : feeds) {
    const std::size_t found = find_by_name(inputs, feed.name);
    if (found == inputs.size())
      return fail(Code::invalid_argument, "the model has no input '{}'", feed.name)
          .note("its inputs are: " + names_of(std::span(inputs).first(own_inputs)));
    const Feed*& slot = by_input[found];
    if (slot != nullptr)
      return fail(Code::invalid_argument, "input '{}' is fed twice", inputs[found].name);
    slot = &feed;
  }
  Arranged arranged;
  arranged.objects.resize(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Feed* feed = by_input[i];
    if (feed == nullptr && i >= own_inputs) {
      SCANLOOM_CHECK_OK(arrange_one(i, hidden_value(i), arranged));
      continue;
    }
    if (feed == nullptr)
      return fail(Code::invalid_argument, "input '{}' ({}) is not fed", inputs[i].name,
                  inputs[i].type);
    const View& given = feed->value;
    SCANLOOM_CHECK_OK(is_one_element(inputs[i], given)
                          ? arrange_one(i, with_axes(inputs[i], given), arranged)
                          : arrange_one(i, given, arranged));
  }
  SCANLOOM_CHECK_OK(check_ranges(arranged));
  return arranged;
}

Expected<void> Session::Impl::check_ranges(const Arranged& arranged) const {
  for (const InputRange& range : input_ranges) {
    const tensor::Shape& shape = arranged.shapes[range.input];
    // A wrong number of axes is reported elsewhere.
    if (range.axis >= shape.rank()) continue;
    const std::int64_t size = shape[range.axis];
    if (size >= range.low && size <= range.high) continue;
    return fail(Code::invalid_argument,
                "feed '{}' has sizes {}: axis {} has {} element{}, the model declares {}",
                inputs[range.input].name, shape.to_string(), range.axis, size, size == 1 ? "" : "s",
                range.high == std::numeric_limits<std::int64_t>::max()
                    ? fmt::format("{} or more", range.low)
                    : fmt::format("{} to {}", range.low, range.high));
  }
  return {};
}

View Session::Impl::hidden_value(std::size_t input) const {
  static constexpr bool kIsKept = false;
  for (const ir::State& state : plan->module.states) {
    if (state.is_kept && *state.is_kept == input) return View{DType::boolean, {}, &kIsKept};
    if (state.input != input) continue;
    const tensor::Shape& shape = state.initial.shape();
    return View{state.initial.dtype(), {shape.begin(), shape.end()}, state.initial.data()};
  }
  return {};
}

Expected<void> Session::Impl::arrange_one(std::size_t input, const View& view,
                                          Arranged& arranged) const {
  const ValueInfo& info = inputs[input];
  const std::string what = "feed '" + info.name + "'";
  if (info.kind == ValueKind::tensor) {
    if (view.kind != ValueKind::tensor || view.dtype != info.dtype)
      return fail(Code::invalid_argument, "input '{}' is {}, the feed is {}", info.name,
                  text_of(info.kind, info.dtype), text_of(view.kind, view.dtype));
    SCANLOOM_TRY(tensor::Tensor tensor, tensor::tensor_of(view, what));
    arranged.shapes.push_back(tensor.shape());
    arranged.data.push_back(static_cast<const std::byte*>(tensor.data()));
    if (info.dtype == DType::string) arranged.objects[input] = tensor::ObjectRef::of(tensor);
    arranged.copies.push_back(std::move(tensor));
    return {};
  }
  const ir::Region& top = plan->module.region(plan->module.top());
  SCANLOOM_TRY(arranged.objects[input],
               to_object(view, plan->module.value(top.args[input]).type, what));
  arranged.shapes.emplace_back();
  arranged.data.push_back(nullptr);
  return {};
}

}  // namespace scanloom
