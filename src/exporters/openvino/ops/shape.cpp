// Sizes, and operators that only change shapes.
#include <limits>

#include "exporters/openvino/element_types.h"
#include "exporters/openvino/ops/forms.h"

namespace scanloom::exporters::openvino {

namespace {

/// Returns the attribute `axes` or the operand that replaces it; invalid if neither is given.
Output axes_of(NodeWriter& out) {
  if (out.attr("axes").present()) return out.list(out.attr("axes").integers());
  return out.has(1) ? out.in(1) : Output{};
}

/// Returns the product of the sizes of axes [start, stop) as a list with one element.
Output product_of_sizes(NodeWriter& out, std::int64_t start, std::int64_t stop) {
  const Output sizes =
      out.slice(out.shape_of(out.in(0)), 0, out.list({start}), out.list({stop}), 1, DType::i64);
  return out.layer("ReduceProd", 1, {sizes, out.list({0})}, DType::i64, {{"keep_dims", "true"}});
}

}  // namespace

void write_shape(NodeWriter& out) {
  const Output sizes = out.shape_of(out.in(0));
  const std::int64_t start = out.integer("start");
  const bool has_end = out.attr("end").present();
  if (start == 0 && !has_end) return out.set(sizes);
  const std::int64_t end =
      has_end ? out.integer("end") : std::int64_t{std::numeric_limits<std::int32_t>::max()};
  out.set(out.slice(sizes, 0, out.list({start}), out.list({end}), 1, DType::i64));
}

void write_dim(NodeWriter& out) { out.set(out.size_of(out.in(0), out.integer("axis"))); }

void write_size(NodeWriter& out) {
  out.set(out.layer("ReduceProd", 1, {out.shape_of(out.in(0)), out.number(0)}, DType::i64,
                    {{"keep_dims", "false"}}));
}

void write_reshape(NodeWriter& out) {
  out.set(out.reshape(out.in(0), out.in(1), out.dtype(), !out.flag("allowzero")));
}

void write_squeeze(NodeWriter& out) {
  std::vector<Output> inputs{out.in(0)};
  if (const Output axes = axes_of(out); axes.valid()) inputs.push_back(axes);
  out.set(out.layer("Squeeze", 1, std::move(inputs), out.dtype()));
}

void write_unsqueeze(NodeWriter& out) {
  out.set(out.layer("Unsqueeze", 1, {out.in(0), axes_of(out)}, out.dtype()));
}

/// With no order, or an empty one, the axes are reversed.
void write_transpose(NodeWriter& out) {
  NodeWriter::Ints order;
  if (out.attr("perm").present()) order = out.attr("perm").integers();
  if (order.empty() && out.type(0).ranked)
    for (int axis = out.type(0).rank() - 1; axis >= 0; --axis) order.push_back(axis);
  if (order.empty() && out.type(0).ranked) return write_first(out);
  out.set(out.transpose(out.in(0), order, out.dtype()));
}

void write_tile(NodeWriter& out) {
  const Output repeats = out.type(0).ranked ? out.list_of(1, out.type(0).rank()) : out.in(1);
  out.set(out.layer("Tile", 1, {out.in(0), repeats}, out.dtype()));
}

void write_flatten(NodeWriter& out) {
  const std::int64_t given = out.integer("axis");
  if (given < 0 && !out.type(0).ranked) return out.refuse("x has an unknown number of axes");
  const std::int64_t axis = given < 0 ? given + out.type(0).rank() : given;
  const Output rows = product_of_sizes(out, 0, axis);
  const Output columns = product_of_sizes(out, axis, tensor::kMaxRank);
  out.set(out.reshape(out.in(0), out.concat({rows, columns}, 0, DType::i64), out.dtype()));
}

void write_expand(NodeWriter& out) { out.set(out.broadcast(out.in(0), out.in(1), out.dtype())); }

void write_constant_of_shape(NodeWriter& out) {
  const tensor::Tensor& value = out.attr("value").tensor();
  const Output scalar = out.constant(value.reshaped({}));
  out.set(out.layer("Broadcast", 3, {scalar, out.in(0)}, value.dtype(), {{"mode", "numpy"}}));
}

void write_concat(NodeWriter& out) {
  out.set(out.concat(out.all_inputs(), out.integer("axis"), out.dtype()));
}

void write_gather(NodeWriter& out) {
  out.set(out.gather(out.in(0), out.in(1), out.integer("axis"), out.dtype()));
}

void write_range(NodeWriter& out) {
  out.set(out.layer("Range", 4, out.all_inputs(), out.dtype(),
                    {{"output_type", std::string(element_type(out.dtype()))}}));
}

/// The IR takes steps before axes.
void write_slice(NodeWriter& out) {
  std::vector<Output> inputs{out.in(0), out.in(1), out.in(2)};
  if (out.has(4)) {
    inputs.push_back(out.in(4));
  } else {
    const Output one = out.constant(tensor::Tensor::scalar(std::int64_t{1}));
    inputs.push_back(
        out.convert(out.broadcast(one, out.shape_of(out.in(1)), DType::i64), out.dtype(1)));
  }
  if (out.has(3)) inputs.push_back(out.in(3));
  out.set(out.layer("Slice", 8, std::move(inputs), out.dtype()));
}

}  // namespace scanloom::exporters::openvino
