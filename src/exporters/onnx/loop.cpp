// Writes loops as ONNX Loop.
#include "exporters/onnx/loop.h"

#include <algorithm>

#include "exporters/onnx/loop_parts.h"
#include "ir/scan_window.h"

namespace scanloom::exporters::onnx {
namespace {

using tensor::Tensor;
using tensor::Type;

/// Returns the size of the axis a port walks along, if the model gives it.
std::optional<std::int64_t> known_size(const LoopParts& loop, std::uint32_t i) {
  const Type& type = loop.scanned_type(i);
  const std::int64_t axis = loop.ports.scanned[i].axis;
  if (!type.ranked || axis >= type.rank()) return std::nullopt;
  const tensor::Dim dim = type.dims[static_cast<std::size_t>(axis)];
  return dim.is_constant() ? std::optional(dim.value()) : std::nullopt;
}

std::string plus(Emitter& out, const std::string& x, std::int64_t offset) {
  return offset == 0 ? x : out.op("Add", {x, out.integer(offset)});
}

/// Computes the number of slices, as ir/scan_window.h does.
std::string slice_count(const LoopParts& loop, std::uint32_t i) {
  const ir::ScannedPort& port = loop.ports.scanned[i];
  Emitter& out = loop.out;
  if (const auto size = known_size(loop, i)) return out.integer(scan_window(port, *size).count);
  const std::string size = out.dim(loop.scanned(i), port.axis);
  const bool forwards = port.start == 0 && port.stride == 1;
  const bool backwards = port.start == -1 && port.stride == -1;
  if (port.part == 1 && (forwards || backwards)) return size;
  const std::string start = port.start < 0 ? plus(out, size, port.start) : out.integer(port.start);
  // Slice k of n starts at first + k * stride, so n - 1 strides fit into the room after the first.
  const std::string room = port.stride > 0 ? plus(out, out.op("Sub", {size, start}), -port.part)
                                           : plus(out, start, 1 - port.part);
  const std::int64_t stride = port.stride > 0 ? port.stride : -port.stride;
  const std::string zero = out.integer(0);
  const std::string count = out.op("Div", {plus(out, room, stride), out.integer(stride)});
  const std::string fits =
      out.op("And", {out.op("Not", {out.op("Less", {room, zero})}),
                     out.op("And", {out.op("Not", {out.op("Less", {start, zero})}),
                                    out.op("Less", {start, size})})});
  return out.op("Where", {fits, count, zero});
}

/// Returns the position of the first element of the first slice, counted from the front; for slices
/// of one element it may also count from the back.
std::string first_element(const LoopParts& loop, std::uint32_t i) {
  const ir::ScannedPort& port = loop.ports.scanned[i];
  if (port.part == 1) return loop.out.integer(port.start);
  const std::int64_t offset = port.stride > 0 ? port.start : port.start - port.part + 1;
  if (port.start >= 0) return loop.out.integer(offset);
  if (const auto size = known_size(loop, i)) return loop.out.integer(*size + offset);
  return plus(loop.out, loop.out.dim(loop.scanned(i), port.axis), offset);
}

std::string slice(const LoopParts& loop, std::uint32_t i, const std::string& first,
                  const std::string& step, Emitter& inside) {
  const ir::ScannedPort& port = loop.ports.scanned[i];
  std::string begin = step;
  if (port.stride != 1) begin = inside.op("Mul", {step, inside.integer(port.stride)});
  if (port.part != 1 || port.start != 0) begin = inside.op("Add", {begin, first});
  if (port.part == 1) {
    if (!port.squeeze) begin = inside.one_element_list(begin);
    return inside.op("Gather", {loop.scanned(i), begin}, {attribute("axis", port.axis)});
  }
  const std::string from = inside.one_element_list(begin);
  const std::string to = inside.op("Add", {from, inside.list({port.part})});
  return inside.op("Slice", {loop.scanned(i), from, to, inside.list({port.axis})});
}

std::string condition(Emitter& out, const std::string& value, const Type& type) {
  return type.ranked && type.rank() == 0 ? value : out.scalar(value);
}

/// Writes one loop. Rows with different sizes are collected in a carried sequence.
class LoopForm {
 public:
  explicit LoopForm(const LoopParts& loop) : loop_(loop) {
    for (std::uint32_t i = 0; i < loop.ports.stacked.size(); ++i)
      (loop.rows_are_equal(i) ? stacked_ : collected_).push_back(i);
    for (std::uint32_t i = 0; i < loop.ports.scanned.size(); ++i)
      first_.push_back(needs_first(i) ? first_element(loop, i) : std::string());
  }

  void write() {
    const ir::LoopPorts& ports = loop_.ports;
    NodeEmitter& out = loop_.out;
    Names inputs{trip_count(), condition_in()}, outputs;
    for (std::uint32_t i = 0; i < ports.carried; ++i) {
      inputs.push_back(loop_.initial(i));
      outputs.push_back(out.out(i));
    }
    for (const std::uint32_t i : collected_) {
      inputs.push_back(out.op("SequenceEmpty", {}, {element_type(i)}));
      outputs.push_back(out.fresh());
    }
    for (std::size_t i = 0; i < stacked_.size(); ++i) outputs.push_back(out.fresh());
    out.emit("Loop", inputs, outputs, {attribute("body", body())});
    std::size_t at = ports.carried;
    for (const std::uint32_t i : collected_) join(i, outputs[at++]);
    for (const std::uint32_t i : stacked_) arrange(i, outputs[at++]);
  }

 private:
  [[nodiscard]] bool needs_first(std::uint32_t i) const {
    const ir::ScannedPort& port = loop_.ports.scanned[i];
    return port.part != 1 || port.start != 0;
  }
  [[nodiscard]] std::string element_type(std::uint32_t i) const {
    return attribute("dtype",
                     std::int64_t{dtype_onnx_number(loop_.model.type(loop_.row(i)).dtype)});
  }
  [[nodiscard]] std::size_t result(std::uint32_t i) const { return loop_.ports.carried + i; }

  std::string trip_count() {
    NodeEmitter& out = loop_.out;
    if (loop_.is_endless()) return loop_.ports.scanned.empty() ? "" : slice_count(loop_, 0);
    std::string count = condition(out, out.in(0), out.in_type(0));
    if (loop_.ports.scanned.empty() || loop_.size_counted()) return count;
    // If the trip count means "endless", the Loop must still end with its slices.
    const std::string ends = out.op("Less", {count, out.integer(ir::kEndlessTripCount)});
    return out.op("Where", {ends, count, slice_count(loop_, 0)});
  }
  /// Without an initial condition, the condition yielded by the body has no effect.
  std::string condition_in() {
    if (!loop_.ports.has_condition)
      return loop_.ports.has_keep_going ? loop_.out.constant(Tensor::scalar(true)) : "";
    const std::size_t at = loop_.ports.has_trip_count ? 1 : 0;
    return condition(loop_.out, loop_.out.in(at), loop_.out.in_type(at));
  }

  GraphWriter body() {
    ModelWriter& model = loop_.model;
    const ir::LoopPorts& ports = loop_.ports;
    const tensor::DimTable& dims = model.module().dims;
    GraphWriter body(model.parts());
    Emitter inside(model, body, loop_.out.label());
    const std::string step = model.fresh(), going = model.fresh();
    body.input(step, Type::scalar(DType::i64), dims);
    body.input(going, Type::scalar(DType::boolean), dims);
    loop_.name_captured();
    for (std::uint32_t i = 0; i < ports.carried; ++i) {
      model.name(loop_.carried_arg(i)) = model.fresh();
      model.input(body, model.name(loop_.carried_arg(i)), loop_.carried_arg(i));
    }
    Names sequences;
    for (const std::uint32_t i : collected_) {
      sequences.push_back(model.fresh());
      body.input(sequences.back(), sequence_type(i), dims);
    }
    for (std::uint32_t i = 0; i < ports.scanned.size(); ++i)
      model.name(loop_.slice_arg(i)) = slice(loop_, i, first_[i], step, inside);
    model.nodes(loop_.out.node().regions[0], body);
    finish_body(body, inside, going, sequences);
    return body;
  }

  void finish_body(GraphWriter& body, Emitter& inside, const std::string& going,
                   const Names& sequences) {
    ModelWriter& model = loop_.model;
    const tensor::DimTable& dims = model.module().dims;
    std::string goes_on = going;
    if (loop_.ports.has_keep_going) {
      const ir::ValueId yield = loop_.region.yields[0];
      goes_on = condition(inside, model.name(yield), model.type(yield));
    }
    const std::string last = inside.op("Identity", {goes_on});
    body.output(last, Type::scalar(DType::boolean), dims);
    for (std::uint32_t i = 0; i < loop_.ports.carried; ++i)
      model.output(body, inside.op("Identity", {model.name(loop_.next(i))}), loop_.next(i));
    for (std::size_t i = 0; i < collected_.size(); ++i) {
      Names operands{sequences[i], model.name(loop_.row(collected_[i]))};
      if (loop_.ports.stacked[collected_[i]].reverse) operands.push_back(inside.integer(0));
      body.output(inside.op("SequenceInsert", operands), sequence_type(collected_[i]), dims);
    }
    for (const std::uint32_t i : stacked_)
      model.output(body, inside.op("Identity", {model.name(loop_.row(i))}), loop_.row(i));
  }

  /// Sizes are left open, because the items have different ones.
  [[nodiscard]] Type sequence_type(std::uint32_t i) const {
    Type type = Type::unranked(loop_.model.type(loop_.row(i)).dtype);
    type.wraps = {tensor::Wrap::sequence};
    return type;
  }

  /// Concatenates the items of a sequence. Concat needs at least one item, so an empty sequence is
  /// handled by a branch.
  void join(std::uint32_t i, const std::string& sequence) {
    NodeEmitter& out = loop_.out;
    ModelWriter& model = loop_.model;
    const ir::ValueId value = out.node().outputs[result(i)];
    const Type& type = model.type(value);
    std::vector<std::int64_t> sizes;
    for (const tensor::Dim dim : type.dims) sizes.push_back(dim.is_constant() ? dim.value() : 0);
    if (!sizes.empty()) sizes[static_cast<std::size_t>(loop_.ports.stacked[i].axis)] = 0;
    GraphWriter empty(model.parts()), joined(model.parts());
    Emitter without(model, empty, out.label()), with(model, joined, out.label());
    const auto zero = Tensor::zeros(type.dtype, {1});
    if (!zero) return out.refuse();
    model.output(empty,
                 without.op("ConstantOfShape", {without.list(sizes)}, {attribute("value", *zero)}),
                 value);
    model.output(
        joined,
        with.op("ConcatFromSequence", {sequence}, {attribute("axis", loop_.ports.stacked[i].axis)}),
        value);
    const std::string length = out.op("SequenceLength", {sequence});
    out.emit("If", {out.op("Equal", {length, out.integer(0)})}, {out.out(result(i))},
             {attribute("then_branch", empty), attribute("else_branch", joined)});
  }

  /// Reorders rows: Loop stacks them along the first axis, in step order.
  void arrange(std::uint32_t i, const std::string& rows) {
    NodeEmitter& out = loop_.out;
    const ir::StackedPort& port = loop_.ports.stacked[i];
    const Type& type = out.out_type(result(i));
    std::string now = port.reverse ? out.reverse(rows, 0) : rows;
    if (port.axis != 0) {
      std::vector<std::int64_t> order;
      const std::int64_t rank = type.rank() + (port.insert ? 0 : 1);
      for (std::int64_t axis = 1; axis < rank; ++axis) order.push_back(axis);
      order.insert(order.begin() + static_cast<std::ptrdiff_t>(port.axis), 0);
      now = out.transpose(now, order);
    }
    if (!port.insert) now = put_end_to_end(out, now, port.axis, type);
    out.emit("Identity", {now}, {out.out(result(i))});
  }

  const LoopParts& loop_;
  std::vector<std::uint32_t> stacked_, collected_;
  Names first_;
};

}  // namespace

void write_as_loop(const LoopParts& loop) { LoopForm(loop).write(); }

}  // namespace scanloom::exporters::onnx
