// Writes loops and branches: layers with bodies, and the ports that lead into them.
#include <algorithm>
#include <limits>

#include "exporters/openvino/port_map.h"
#include "exporters/openvino/region_writer.h"
#include "exporters/openvino/running.h"
#include "exporters/openvino/windows.h"
#include "ir/constants.h"
#include "ir/op_def.h"
#include "ops/ops.h"

namespace scanloom::exporters::openvino {

using ir::LoopPorts;
using ir::NodeId;
using ir::RegionId;
using ir::ValueId;
using tensor::Tensor;

namespace {

/// Returns, for each argument of a region, whether anything reads it.
std::vector<bool> read_arguments(const ir::Module& module, RegionId region) {
  std::vector<bool> is_read(module.region(region).args.size());
  const auto note = [&](ValueId value) {
    if (value.valid() && !module.value(value).producer.valid())
      is_read[module.value(value).index] = true;
  };
  for (const NodeId node : module.region(region).nodes)
    for (const ValueId input : module.node(node).inputs) note(input);
  for (const ValueId yield : module.region(region).yields) note(yield);
  return is_read;
}

/// Writes a loop as a TensorIterator if its slices alone determine the number of steps, otherwise
/// as a Loop.
class LoopWriter {
 public:
  LoopWriter(Writing& writing, NodeWriter& out)
      : writing_(writing),
        out_(out),
        ports_(*out.node().loop),
        region_(writing.module.region(out.node().regions[0])),
        is_read_(read_arguments(writing.module, out.node().regions[0])),
        is_iterator_(has_no_end_of_its_own()) {}

  void write() {
    gather_operands();
    const pugi::xml_node layer = add_layer();
    map_ = pugi::xml_node(layer).append_child("port_map");
    back_edges_ = pugi::xml_node(layer).append_child("back_edges");
    LayerGraph body(pugi::xml_node(layer).append_child("body"), writing_.weights);
    RegionWriter inside(writing_, body);
    enter_body(body, inside);
    inside.nodes(out_.node().regions[0]);
    leave_body(body, inside);
    set_results();
  }

 private:
  [[nodiscard]] const tensor::Type& type(ValueId value) const {
    return writing_.module.value(value).type;
  }
  [[nodiscard]] ValueId carried_argument(std::uint32_t i) const {
    return region_.args[ports_.captured + i];
  }
  [[nodiscard]] ValueId scanned_argument(std::uint32_t i) const {
    return region_.args[ports_.captured + ports_.carried + i];
  }

  [[nodiscard]] bool has_no_end_of_its_own() const {
    if (ports_.has_trip_count || ports_.scanned.empty()) return false;
    if (ports_.has_condition && !ir::is_true(out_.constant_in(0))) return false;
    return !ports_.has_keep_going ||
           ir::is_true(ir::constant_of(writing_.module, region_.yields[0]));
  }

  // --- the layer

  void gather_operands() {
    for (std::uint32_t i = 0; i < ports_.scanned.size(); ++i) {
      const std::uint32_t at = ports_.first_scanned_input() + i;
      slices_.push_back(sliced(out_, out_.in(at), out_.type(at), ports_.scanned[i]));
    }
    if (!is_iterator_) operands_ = {trip_count(), first_condition()};
    for (std::uint32_t i = 0; i < ports_.captured; ++i)
      if (is_passed(i)) operands_.push_back(out_.in(ports_.first_captured_input() + i));
    for (std::uint32_t i = 0; i < ports_.carried; ++i)
      operands_.push_back(out_.in(ports_.first_carried_input() + i));
    for (const Sliced& each : slices_) operands_.push_back(each.value);
  }

  /// Whether a captured value has a port. Constants are copied into the body, where implementations
  /// look for weights.
  [[nodiscard]] bool is_passed(std::uint32_t captured) const {
    return is_read_[captured] &&
           out_.constant_in(ports_.first_captured_input() + captured) == nullptr;
  }

  /// A negative trip count means "endless" in OpenVINO; implementations count with 32 bits.
  Output trip_count() {
    if (!ports_.has_trip_count)
      return slices_.empty() ? out_.number(-1) : slice_count(out_, slices_.front());
    constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
    if (const Tensor* const known = out_.constant_in(0)) {
      const std::int64_t count = tensor::to_integers(*known)->front();
      return out_.number(count >= kMax ? -1 : std::max<std::int64_t>(count, 0));
    }
    const Output given = out_.in(0);
    if (is_size(out_.node().inputs[0])) return given;
    const Output is_endless = out_.binary("GreaterEqual", given, out_.number(kMax), DType::boolean);
    const Output count = out_.binary("Maximum", given, out_.number(0), DType::i64);
    return out_.layer("Select", 1, {is_endless, out_.number(-1), count}, DType::i64);
  }

  /// Whether the value is a size. Sizes are not negative, and readers see that the slices limit the
  /// steps to the size of a scanned value.
  [[nodiscard]] bool is_size(ValueId value) const {
    ir::NodeId producer = writing_.module.value(value).producer;
    while (producer.valid() && writing_.module.node(producer).op == &ops::check_equal_op)
      producer = writing_.module.value(writing_.module.node(producer).inputs[0]).producer;
    return producer.valid() && writing_.module.node(producer).op == &ops::dim_op;
  }

  Output first_condition() {
    if (ports_.has_condition) return out_.in(ports_.has_trip_count ? 1 : 0);
    return out_.constant(Tensor::scalar(true));
  }

  pugi::xml_node add_layer() {
    std::vector<DType> results;
    for (const ValueId result : out_.node().outputs) results.push_back(type(result).dtype);
    results_ = out_.layers(is_iterator_ ? "TensorIterator" : "Loop", is_iterator_ ? 1 : 5,
                           operands_, results);
    return out_.graph().element(results_.front().layer);
  }

  // --- the body

  void enter_body(LayerGraph& body, RegionWriter& inside) {
    std::int64_t external = is_iterator_ ? 0 : 2;
    for (std::uint32_t i = 0; i < ports_.captured; ++i) {
      const ValueId argument = region_.args[i];
      if (is_passed(i)) {
        const Output parameter = body.parameter("captured", type(argument));
        add_port(map_, "input", external++, parameter.layer);
        inside.set(argument, parameter);
      } else if (is_read_[i]) {
        inside.set(argument, body.constant(*out_.constant_in(ports_.first_captured_input() + i)));
      }
    }
    for (std::uint32_t i = 0; i < ports_.carried; ++i) {
      const Output parameter = body.parameter("state", type(carried_argument(i)));
      add_port(map_, "input", external++, parameter.layer);
      inside.set(carried_argument(i), parameter);
      states_.push_back(parameter.layer);
    }
    for (std::uint32_t i = 0; i < ports_.scanned.size(); ++i)
      inside.set(scanned_argument(i), enter_slice(i, external++, body));
  }

  Output enter_slice(std::uint32_t i, std::int64_t external, LayerGraph& body) {
    const ir::ScannedPort& port = ports_.scanned[i];
    tensor::Type slice = out_.type(ports_.first_scanned_input() + i);
    slice.dims[static_cast<std::size_t>(port.axis)] = tensor::Dim(port.part);
    const Output parameter = body.parameter("slice", slice);
    add_window(add_port(map_, "input", external, parameter.layer), slices_[i].window);
    if (!port.squeeze) return parameter;
    const Output axes = body.constant(Tensor::scalar(port.axis));
    const int squeezed =
        body.add({.type = "Squeeze", .inputs = {parameter, axes}, .results = {slice.dtype}});
    return {squeezed, 2};
  }

  void leave_body(LayerGraph& body, const RegionWriter& inside) {
    if (!is_iterator_) {
      const Output going = ports_.has_keep_going ? inside.output(region_.yields[0])
                                                 : body.constant(Tensor::scalar(true));
      add_port(map_, "output", -1, body.result(going))
          .append_attribute("purpose")
          .set_value("execution_condition");
    }
    auto external = static_cast<std::int64_t>(operands_.size());
    for (std::uint32_t i = 0; i < ports_.carried; ++i) {
      const ValueId next = region_.yields[ports_.first_carried_yield() + i];
      Output value = inside.output(next);
      if (is_other_state(next, i)) value = copied(body, value, type(next).dtype);
      const int result = body.result(value);
      add_port(map_, "output", external++, result);
      add_back_edge(back_edges_, result, states_[i]);
    }
    for (std::uint32_t i = 0; i < ports_.stacked.size(); ++i)
      leave_row(i, external++, body, inside);
  }

  /// Whether the value is another state's value in this step, possibly reshaped.
  [[nodiscard]] bool is_other_state(ValueId value, std::uint32_t i) const {
    static constexpr const ir::OpDef* kViews[] = {
        &ops::check_equal_op, &ops::dense_op,   &ops::flatten_op,  &ops::identity_op,
        &ops::reshape_op,     &ops::squeeze_op, &ops::unsqueeze_op};
    for (NodeId producer = writing_.module.value(value).producer; producer.valid();
         producer = writing_.module.value(value).producer) {
      if (std::ranges::find(kViews, writing_.module.node(producer).op) == std::end(kViews))
        return false;
      value = writing_.module.node(producer).inputs[0];
    }
    const std::uint32_t at = writing_.module.value(value).index;
    return at >= ports_.captured && at < ports_.captured + ports_.carried &&
           at != ports_.captured + i;
  }

  /// OpenVINO updates states one after another, so a state that another one takes over would be
  /// overwritten before it is read.
  static Output copied(LayerGraph& body, Output value, DType dtype) {
    return {body.add({.type = "Identity", .opset = 16, .inputs = {value}, .results = {dtype}}), 1};
  }

  /// Rows keep the axis along which they are concatenated.
  void leave_row(std::uint32_t i, std::int64_t external, LayerGraph& body,
                 const RegionWriter& inside) {
    const ir::StackedPort& port = ports_.stacked[i];
    const ValueId row = region_.yields[ports_.first_stacked_yield() + i];
    Output made = inside.output(row);
    if (port.insert) {
      const Output axes = body.constant(Tensor::scalar(port.axis));
      made = {body.add({.type = "Unsqueeze", .inputs = {made, axes}, .results = {type(row).dtype}}),
              2};
    }
    const Window window{port.axis, part_of(i), port.reverse && is_iterator_};
    add_window(add_port(map_, "output", external, body.result(made)), window);
  }

  /// Returns the part size of a stack's rows; 1 if unknown, since only their order depends on it.
  [[nodiscard]] std::int64_t part_of(std::uint32_t i) const {
    const tensor::Type& row = type(region_.yields[ports_.first_stacked_yield() + i]);
    if (ports_.stacked[i].insert || !row.ranked) return 1;
    const tensor::Dim size = row.dims[static_cast<std::size_t>(ports_.stacked[i].axis)];
    return size.is_constant() && size.value() > 0 ? size.value() : 1;
  }

  /// A Loop stacks only forwards.
  void set_results() {
    for (std::uint32_t i = 0; i < ports_.carried; ++i) out_.set(i, results_[i]);
    for (std::uint32_t i = 0; i < ports_.stacked.size(); ++i) {
      const ir::StackedPort& port = ports_.stacked[i];
      const std::uint32_t at = ports_.carried + i;
      const std::int64_t part = part_of(i);
      const bool turns = port.reverse && !is_iterator_;
      if (turns && !out_.result_type(at).ranked)
        return out_.refuse("rows of an unknown number of axes are stacked backwards");
      const ir::ScannedPort backwards{port.axis, -1, -part, part, false};
      out_.set(at, turns ? gathered_slices(out_, results_[at], out_.result_type(at), backwards)
                         : results_[at]);
    }
  }

  Writing& writing_;
  NodeWriter& out_;
  const LoopPorts& ports_;
  const ir::Region& region_;
  std::vector<bool> is_read_;
  bool is_iterator_;
  std::vector<Sliced> slices_;
  std::vector<Output> operands_, results_;
  std::vector<int> states_;  ///< Parameters
  pugi::xml_node map_, back_edges_;
};

class BranchWriter {
 public:
  BranchWriter(Writing& writing, NodeWriter& out) : writing_(writing), out_(out) {}

  void write() {
    const ir::Node& node = out_.node();
    std::vector<Output> operands{out_.in(0)};
    for (std::size_t i = 1; i < node.inputs.size(); ++i)
      if (out_.constant_in(i) == nullptr) {
        external_[i] = static_cast<std::int64_t>(operands.size());
        operands.push_back(out_.in(i));
      }
    std::vector<DType> dtypes;
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      dtypes.push_back(out_.result_type(i).dtype);
    operand_count_ = operands.size();
    const std::vector<Output> results = out_.layers("If", 8, std::move(operands), dtypes);
    pugi::xml_node layer = out_.graph().element(results.front().layer);
    for (std::size_t side = 0; side < 2; ++side) write_region(layer, side);
    for (std::size_t i = 0; i < results.size(); ++i) out_.set(i, results[i]);
  }

 private:
  void write_region(pugi::xml_node layer, std::size_t side) {
    const RegionId id = out_.node().regions[side];
    const ir::Region& region = writing_.module.region(id);
    const std::string word = side == 0 ? "then" : "else";
    pugi::xml_node map = layer.append_child((word + "_port_map").c_str());
    LayerGraph body(layer.append_child((word + "_body").c_str()), writing_.weights);
    RegionWriter inside(writing_, body);
    const std::vector<bool> is_read = read_arguments(writing_.module, id);
    for (std::size_t i = 0; i < region.args.size(); ++i) {
      if (!is_read[i]) continue;
      if (const Tensor* const value = out_.constant_in(i + 1)) {
        inside.set(region.args[i], body.constant(*value));
        continue;
      }
      const Output parameter =
          body.parameter("captured", writing_.module.value(region.args[i]).type);
      add_port(map, "input", external_.at(i + 1), parameter.layer);
      inside.set(region.args[i], parameter);
    }
    inside.nodes(id);
    auto external = static_cast<std::int64_t>(operand_count_);
    for (const ValueId yield : region.yields)
      add_port(map, "output", external++, body.result(inside.output(yield)));
  }

  Writing& writing_;
  NodeWriter& out_;
  std::map<std::size_t, std::int64_t> external_;  ///< port by operand of the node
  std::size_t operand_count_ = 0;
};

}  // namespace

void write_loop(Writing& writing, NodeWriter& out) {
  if (out.node().outputs.empty()) return;
  LoopWriter(writing, out).write();
}

Output write_running(NodeWriter& out, const Running& running, Output x, const tensor::Type& type,
                     Output initial) {
  tensor::Type row = type;
  row.dims[static_cast<std::size_t>(running.axis)] = tensor::Dim(1);
  const Window window{running.axis, 1, running.reverse};
  const Output made = out.layer("TensorIterator", 1, {x, initial}, row.dtype);
  pugi::xml_node layer = out.graph().element(made.layer);
  pugi::xml_node map = layer.append_child("port_map");
  const pugi::xml_node edges = layer.append_child("back_edges");
  LayerGraph body(layer.append_child("body"), out.graph().weights());
  const Output slice = body.parameter("slice", row), state = body.parameter("state", row);
  const Output next{
      body.add({.type = running.layer, .inputs = {state, slice}, .results = {row.dtype}}), 2};
  const int carried = body.result(next);
  add_window(add_port(map, "input", 0, slice.layer), window);
  add_port(map, "input", 1, state.layer);
  add_window(add_port(map, "output", made.port, body.result(running.exclusive ? state : next)),
             window);
  add_back_edge(edges, carried, state.layer);
  return made;
}

void write_branch(Writing& writing, NodeWriter& out) {
  if (out.node().outputs.empty()) return;
  BranchWriter(writing, out).write();
}

}  // namespace scanloom::exporters::openvino
