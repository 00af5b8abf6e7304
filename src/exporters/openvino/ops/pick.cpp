// Operators that select elements by index or by order: gathers, scatters, splits, searches.
#include <algorithm>

#include "exporters/openvino/ops/forms.h"

namespace scanloom::exporters::openvino {

namespace {

/// Turns negative indices, which count from the back of `size` elements, into ones counted from the
/// front.
Output from_front(NodeWriter& out, Output indices, Output size, DType dtype) {
  const Output zero = out.scalar(0, dtype);
  const Output moved =
      out.binary("Add", indices, dtype == DType::i64 ? size : out.convert(size, dtype), dtype);
  const Output is_behind = out.binary("Less", indices, zero, DType::boolean);
  return out.layer("Select", 1, {is_behind, moved, indices}, dtype);
}

/// Whether the indices are constants without negative ones.
bool are_plain(const NodeWriter& out, std::size_t i) {
  const tensor::Tensor* const known = out.constant_in(i);
  if (known == nullptr) return false;
  const auto values = tensor::to_integers(*known);
  return values && std::ranges::all_of(*values, [](std::int64_t one) { return one >= 0; });
}

std::string reduction_word(const NodeWriter& out) {
  const std::string& word = out.text("reduction");
  if (word == "add") return "sum";
  return word == "mul" ? "prod" : word;
}

/// Returns the sizes of the data axes that tuples of indices address, starting at axis `first`.
Output named_sizes(NodeWriter& out, std::int64_t first) {
  const Output count = out.size_of(out.in(1), -1, true), start = out.list({first});
  const Output stop = out.binary("Add", count, start, DType::i64);
  return out.slice(out.shape_of(out.in(0)), 0, start, stop, 1, DType::i64);
}

}  // namespace

void write_gather_elements(NodeWriter& out) {
  const std::int64_t axis = out.integer("axis");
  const DType dtype = out.dtype(1);
  Output indices = out.in(1);
  if (!are_plain(out, 1)) {
    const Output size = out.gather(out.shape_of(out.in(0)), out.number(axis), 0, DType::i64);
    indices = from_front(out, indices, size, dtype);
  }
  out.set(out.layer("GatherElements", 6, {out.in(0), indices}, out.dtype(),
                    {{"axis", std::to_string(axis)}}));
}

void write_gather_nd(NodeWriter& out) {
  const std::int64_t batch = out.integer("batch_dims");
  Output indices = out.in(1);
  if (!are_plain(out, 1)) indices = from_front(out, indices, named_sizes(out, batch), out.dtype(1));
  out.set(out.layer("GatherND", 8, {out.in(0), indices}, out.dtype(),
                    {{"batch_dims", std::to_string(batch)}}));
}

void write_scatter_elements(NodeWriter& out) {
  out.set(out.layer("ScatterElementsUpdate", 12,
                    {out.in(0), out.in(1), out.in(2), out.number(out.integer("axis"))}, out.dtype(),
                    {{"reduction", reduction_word(out)}, {"use_init_val", "true"}}));
}

void write_scatter_nd(NodeWriter& out) {
  Output indices = out.in(1);
  if (!are_plain(out, 1)) indices = from_front(out, indices, named_sizes(out, 0), out.dtype(1));
  const std::string reduction = reduction_word(out);
  if (reduction == "none")
    return out.set(out.layer("ScatterNDUpdate", 4, {out.in(0), indices, out.in(2)}, out.dtype()));
  out.set(out.layer("ScatterNDUpdate", 15, {out.in(0), indices, out.in(2)}, out.dtype(),
                    {{"reduction", reduction}}));
}

namespace {

/// Returns the size of an axis of x if it is known.
std::optional<std::int64_t> known_size(const tensor::Type& x, std::int64_t axis) {
  if (!x.ranked) return std::nullopt;
  const tensor::Dim size = x.dims[static_cast<std::size_t>(axis < 0 ? axis + x.rank() : axis)];
  return size.is_constant() ? std::optional(size.value()) : std::nullopt;
}

/// Returns the lengths of equal parts, each size / parts rounded up; the last ones may be shorter.
Output even_lengths(NodeWriter& out, std::int64_t axis, std::int64_t parts) {
  const DType i64 = DType::i64;
  const Output size = out.size_of(out.in(0), axis, true);
  const Output length = out.binary("Divide", out.binary("Add", size, out.number(parts - 1), i64),
                                   out.number(parts), i64);
  NodeWriter::Ints numbers;
  for (std::int64_t i = 0; i < parts; ++i) numbers.push_back(i);
  const Output begins = out.binary("Multiply", length, out.list(numbers), i64);
  const Output left = out.binary("Subtract", size, begins, i64);
  return out.binary("Maximum", out.binary("Minimum", left, length, i64), out.number(0), i64);
}

}  // namespace

void write_split(NodeWriter& out) {
  const auto parts = std::ssize(out.node().outputs);
  const std::vector<DType> results(out.node().outputs.size(), out.dtype());
  const std::int64_t axis = out.integer("axis");
  const std::optional<std::int64_t> size = known_size(out.type(0), axis);
  std::vector<Output> made;
  if (!out.has(1) && size && *size % parts == 0) {
    made = out.layers("Split", 1, {out.in(0), out.number(axis)}, results,
                      {{"num_splits", std::to_string(parts)}});
  } else {
    const Output lengths = out.has(1) ? out.list_of(1, parts) : even_lengths(out, axis, parts);
    made = out.layers("VariadicSplit", 1, {out.in(0), out.number(axis), lengths}, results);
  }
  for (std::size_t i = 0; i < made.size(); ++i) out.set(i, made[i]);
}

/// The layer returns 32-bit positions.
void write_string_unpack(NodeWriter& out) {
  const std::vector<Output> made =
      out.layers("StringTensorUnpack", 15, {out.in(0)}, {DType::i32, DType::i32, DType::u8});
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}})
    out.set(i, out.convert(made[i], DType::i64));
  out.set(2, made[2]);
}

void write_reverse_sequence(NodeWriter& out) {
  out.set(out.layer("ReverseSequence", 1, {out.in(0), out.in(1)}, out.dtype(),
                    {{"batch_axis", std::to_string(out.integer("batch_axis"))},
                     {"seq_axis", std::to_string(out.integer("time_axis"))}}));
}

// --- by order

namespace {

Data topk_data(std::int64_t axis, bool largest) {
  return {{"axis", std::to_string(axis)},
          {"mode", largest ? "max" : "min"},
          {"sort", "value"},
          {"index_element_type", "i64"},
          {"stable", "true"}};
}

/// Reverses x along an axis.
Output reversed(NodeWriter& out, Output x, std::int64_t axis, DType dtype) {
  constexpr std::int64_t kBeforeAll = std::numeric_limits<std::int32_t>::min();
  return out.slice(x, axis, out.list({-1}), out.list({kBeforeAll}), -1, dtype);
}

void write_min_max(NodeWriter& out, bool largest) {
  const std::int64_t axis = out.integer("axis");
  const bool last = out.flag("select_last_index");
  const Output x = last ? reversed(out, out.in(0), axis, out.dtype()) : out.in(0);
  const std::vector<Output> made = out.layers("TopK", 11, {x, out.number(1)},
                                              {out.dtype(), DType::i64}, topk_data(axis, largest));
  Output index = made[1];
  if (last) {
    const Output size = out.gather(out.shape_of(x), out.number(axis), 0, DType::i64);
    const Output greatest = out.binary("Subtract", size, out.number(1), DType::i64);
    index = out.binary("Subtract", greatest, index, DType::i64);
  }
  out.set(out.flag("keepdims") ? index : out.squeeze(index, {axis}, DType::i64));
}

}  // namespace

void write_argmax(NodeWriter& out) { write_min_max(out, true); }
void write_argmin(NodeWriter& out) { write_min_max(out, false); }

void write_topk(NodeWriter& out) {
  const Output count = out.reshape(out.in(1), out.list({}), out.dtype(1));
  const std::vector<Output> made =
      out.layers("TopK", 11, {out.in(0), count}, {out.dtype(), DType::i64},
                 topk_data(out.integer("axis"), out.flag("largest")));
  out.set(0, made[0]);
  out.set(1, made[1]);
}

void write_non_zero(NodeWriter& out) {
  out.set(out.layer("NonZero", 3, {out.in(0)}, DType::i64, {{"output_type", "i64"}}));
}

void write_unique(NodeWriter& out) {
  const DType dtype = out.dtype(), i64 = DType::i64;
  std::vector<Output> inputs{out.in(0)};
  if (out.attr("axis").present()) inputs.push_back(out.number(out.integer("axis")));
  const std::vector<Output> made =
      out.layers("Unique", 10, std::move(inputs), {dtype, i64, i64, i64},
                 {{"sorted", out.flag("sorted") ? "true" : "false"},
                  {"index_element_type", "i64"},
                  {"count_element_type", "i64"}});
  for (std::size_t i = 0; i < made.size(); ++i) out.set(i, made[i]);
}

/// Compares x with every key; the first equal key selects the value.
void write_label_encode(NodeWriter& out) {
  const tensor::Tensor &keys = out.attr("keys").tensor(), &values = out.attr("values").tensor();
  if (keys.dtype() == DType::string || values.dtype() == DType::string)
    return out.refuse("strings that are compared have no form in an IR");
  const DType dtype = values.dtype();
  Output result = out.constant(out.attr("default").tensor().reshaped({}));
  if (keys.elements() > 0) {
    const Output equal = out.binary("Equal", out.unsqueeze(out.in(0), {-1}, out.dtype()),
                                    out.constant(keys), DType::boolean);
    const std::vector<Output> found =
        out.layers("TopK", 11, {out.convert(equal, DType::i32), out.number(1)},
                   {DType::i32, DType::i64}, topk_data(-1, true));
    const Output position = out.squeeze(found[1], {-1}, DType::i64);
    const Output is_found = out.layer("ReduceLogicalOr", 1, {equal, out.list({-1})}, DType::boolean,
                                      {{"keep_dims", "false"}});
    const Output value = out.gather(out.constant(values), position, 0, dtype);
    return out.set(out.layer("Select", 1, {is_found, value, result}, dtype));
  }
  out.set(out.broadcast(result, out.shape_of(out.in(0)), dtype));
}

}  // namespace scanloom::exporters::openvino
