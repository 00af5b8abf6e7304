// Replaces a state that steps take apart and put together again by a state per part: the delays of
// a cascade of filters, the coordinates of an equation. Without the slices and concats the body is
// one element program, whose states stay in registers (plan/bind/whole_loop.cpp). Scanned
// slices and captured values are cut before the loop, where that is a view; final values and rows
// are put together after it.
//
// It runs after the passes that turn other forms into slices, and before those that join loops,
// which depend on the kind of machine code that bodies become.
#include <algorithm>
#include <string>
#include <utility>

#include "opmath/reduction.h"
#include "ops/ops.h"
#include "passes/analysis/body_parts.h"
#include "passes/rewrite/ports.h"
#include "passes/rewrite/rewriter.h"
#include "tensor/strided_copy.h"

namespace scanloom::passes {
namespace {

using ir::LoopPorts;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::RegionId;
using ir::ValueId;
using Parts = std::vector<ValueId>;

Expected<ValueId> slice_part(ir::Builder& builder, ValueId value, int axis, std::int64_t first,
                             std::int64_t count) {
  const auto list = [&](std::int64_t number) {
    return builder.constant(tensor::Tensor::of<std::int64_t>({1}, {{number}}));
  };
  const ValueId from = list(first), to = list(first + count), along = list(axis);
  return builder.op(ops::slice_op, {value, from, to, along});
}

Expected<Parts> slice_parts(ir::Builder& builder, ValueId value, const Split& split, int axis) {
  Parts parts;
  for (std::int64_t i = 0; i < split.count; ++i) {
    SCANLOOM_TRY(const ValueId part, slice_part(builder, value, axis, i * split.part, split.part));
    parts.push_back(part);
  }
  return parts;
}

/// Replaces the nodes of a loop's body that compute split values by nodes that compute the parts.
class PartsOfBody {
 public:
  PartsOfBody(Module& module, RegionId body, const std::map<ValueId, Split>& splits)
      : module_(module), body_(body), splits_(splits) {}

  /// nullptr: the value stays whole.
  [[nodiscard]] const Split* split_of(ValueId value) const {
    const auto found = splits_.find(value);
    return found == splits_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] int rank_of(ValueId value) const { return module_.value(value).type.rank(); }

  /// Returns what the value has become, in a body with both the old and the added ports.
  [[nodiscard]] ValueId now(ValueId value) const {
    const auto found = now_.find(value);
    return found == now_.end() ? value : found->second;
  }

  /// The parts of a split value. Those of arguments are set before split() is called.
  [[nodiscard]] Parts& parts_of(ValueId value) { return parts_[value]; }

  Expected<void> split(const std::vector<NodeId>& nodes) {
    module_.region(body_).nodes.clear();
    ir::Builder builder(module_, body_);
    for (const NodeId id : nodes) {
      builder.set_location(module_.node(id).location);
      SCANLOOM_TRY(const bool replaced, split_node(builder, id));
      if (replaced) continue;
      for (ValueId& input : module_.node(id).inputs) input = now(input);
      module_.region(body_).nodes.push_back(id);
    }
    return {};
  }

 private:
  /// Returns whether the node was replaced, by nodes added to the body or by existing parts.
  Expected<bool> split_node(ir::Builder& builder, NodeId id) {
    const Node node = module_.node(id);  // by value: adding nodes may move the table
    const Split* const split = split_of(node.outputs[0]);
    const Split* const read = node.inputs.empty() ? nullptr : split_of(node.inputs[0]);
    if (node.op == &ops::slice_op || node.op == &ops::gather_op)
      return read != nullptr ? take(builder, node, *read) : false;
    if (node.op == &ops::reduce_op && read != nullptr) return fold(builder, node);
    if (split == nullptr) return false;
    Parts& parts = parts_[node.outputs[0]];
    if (node.op == &ops::concat_op) {
      for (const ValueId input : node.inputs)
        if (const auto found = parts_.find(input); found != parts_.end())
          parts.insert(parts.end(), found->second.begin(), found->second.end());
        else
          parts.push_back(now(input));
      return true;
    }
    if (node.op == &ir::constant_op) {
      SCANLOOM_TRY(parts, cut_constant(builder, node.outputs[0], *split));
      return true;
    }
    for (std::int64_t i = 0; i < split->count; ++i) {
      SCANLOOM_TRY(const ValueId part, compute_part(builder, node, static_cast<std::size_t>(i)));
      parts.push_back(part);
    }
    return true;
  }

  /// Cuts it into constants instead of slices of one, so that nothing is left to take apart.
  Expected<Parts> cut_constant(ir::Builder& builder, ValueId value, const Split& split) const {
    const tensor::Tensor whole = *constant_of(module_, value);
    const tensor::Shape strides = tensor::contiguous_strides(whole.shape());
    const int axis = split.axis(whole.shape().rank());
    tensor::Shape shape = whole.shape();
    shape[axis] = split.part;
    Parts parts;
    for (std::int64_t i = 0; i < split.count; ++i) {
      SCANLOOM_TRY(tensor::Tensor part, tensor::Tensor::zeros(whole.dtype(), shape));
      const auto* const from = static_cast<const std::byte*>(whole.data());
      tensor::copy_strided(whole.dtype(), shape.dims(),
                           tensor::advance(from, whole.dtype(), i * split.part * strides[axis]),
                           strides.data(), static_cast<std::byte*>(part.mutable_data()),
                           tensor::contiguous_strides(shape).data());
      parts.push_back(builder.constant(std::move(part)));
    }
    return parts;
  }

  Expected<ValueId> compute_part(ir::Builder& builder, const Node& node, std::size_t part) {
    std::vector<ValueId> inputs;
    for (const ValueId input : node.inputs) {
      const auto found = parts_.find(input);
      inputs.push_back(found != parts_.end() ? found->second[part] : now(input));
    }
    return builder.op(*node.op, std::move(inputs), attrs_of(node));
  }

  /// A slice or a gather: takes existing parts.
  Expected<bool> take(ir::Builder& builder, const Node& node, const Split& read) {
    const auto rows = rows_taken(module_, node, read.from_end);
    Parts taken;
    for (std::size_t i = 0; i < rows->size(); i += static_cast<std::size_t>(read.part))
      taken.push_back(parts_[node.inputs[0]][static_cast<std::size_t>((*rows)[i] / read.part)]);
    if (taken.size() > 1) {
      parts_[node.outputs[0]] = std::move(taken);
      return true;
    }
    const int rank = rank_of(node.inputs[0]);
    now_[node.outputs[0]] = taken[0];
    if (rank_of(node.outputs[0]) == rank) return true;
    SCANLOOM_TRY(now_[node.outputs[0]],
                 builder.op(ops::squeeze_op, {taken[0]},
                            {{"axes", std::vector<std::int64_t>{read.axis(rank)}}}));
    return true;
  }

  /// A reduction, in its order: sums begin with 0, min and max with the first element
  /// (ops/reduce/reduce.cpp).
  Expected<bool> fold(ir::Builder& builder, const Node& node) {
    const Parts& parts = parts_[node.inputs[0]];
    const std::string_view kind = attr_of(node, "kind").text();
    const ir::OpDef& op = kind == "sum" ? ops::add_op : kind == "max" ? ops::max_op : ops::min_op;
    const DType dtype = module_.value(node.inputs[0]).type.dtype;
    ValueId result = parts[0];
    if (kind == "sum") {
      const ValueId zero = builder.constant(*tensor::Tensor::zeros(dtype, {}));
      SCANLOOM_TRY(result, builder.op(op, {zero, parts[0]}));
    }
    for (std::size_t i = 1; i < parts.size(); ++i) {
      SCANLOOM_TRY(result, builder.op(op, {result, parts[i]}));
    }
    if (attr_of(node, "keepdims").integer() == 0) {
      std::vector<std::int64_t> dropped;
      const int rank = rank_of(node.inputs[0]);
      for (int axis = 0; axis < rank; ++axis)
        if (tensor::is_reduced(attr_of(node, "axes"), axis, rank)) dropped.push_back(axis);
      SCANLOOM_TRY(result, builder.op(ops::squeeze_op, {result}, {{"axes", std::move(dropped)}}));
    }
    now_[node.outputs[0]] = result;
    return true;
  }

  Module& module_;
  const RegionId body_;
  const std::map<ValueId, Split>& splits_;
  std::map<ValueId, Parts> parts_;
  std::map<ValueId, ValueId> now_;
};

/// Splits values of one loop. The region's list ends with the loop, so added nodes come after it.
class Splitter {
 public:
  Splitter(Module& module, NodeId loop, const std::map<ValueId, Split>& splits,
           ir::ValueMap& outside)
      : module_(module),
        loop_(loop),
        region_(module.node(loop).parent),
        body_(module.node(loop).regions[0]),
        inside_(module, body_, splits),
        outside_(outside),
        kept_(*module.node(loop).loop) {}

  Expected<void> run() {
    const LoopPorts ports = *module_.node(loop_).loop;
    const ir::Region before = module_.region(body_);
    SCANLOOM_CHECK_OK(split_arguments(ports, before));
    SCANLOOM_CHECK_OK(inside_.split(before.nodes));
    SCANLOOM_CHECK_OK(split_yields(ports, before));
    keep_ports(module_, loop_, kept_);
    return {};
  }

 private:
  /// Adds ports for the parts of each split argument, instead of the argument's own.
  Expected<void> split_arguments(const LoopPorts& ports, const ir::Region& before) {
    module_.region(region_).nodes.pop_back();
    ir::Builder builder(module_, region_);
    builder.set_location(module_.node(loop_).location);
    std::map<ValueId, Parts> outer;
    for (std::uint32_t i = 0; i < before.args.size(); ++i) {
      const Split* const split = inside_.split_of(before.args[i]);
      if (split == nullptr) continue;
      const ValueId input = module_.node(loop_).inputs[ports.first_captured_input() + i];
      int axis = split->axis(inside_.rank_of(before.args[i]));
      if (const std::uint32_t first = ports.captured + ports.carried; i >= first)
        axis += ports.scanned[i - first].axis <= axis ? 1 : 0;
      SCANLOOM_TRY(outer[before.args[i]], slice_parts(builder, input, *split, axis));
      name_parts(input, outer[before.args[i]]);
    }
    module_.region(region_).nodes.push_back(loop_);
    for (std::uint32_t i = 0; i < before.args.size(); ++i)
      if (const auto found = outer.find(before.args[i]); found != outer.end()) {
        const Parts& parts = inside_.parts_of(before.args[i]) = add_ports(ports, i, found->second);
        name_parts(before.args[i], parts);
      }
    return {};
  }

  /// Adds ports for the parts of argument i; returns their arguments.
  Parts add_ports(const LoopPorts& ports, std::uint32_t i, const Parts& outer) {
    if (i < ports.captured) {
      kept_.captured[i] = false;
      kept_.captured.resize(kept_.captured.size() + outer.size(), true);
      return add_captured(module_, loop_, outer);
    }
    if (i < ports.captured + ports.carried) {
      kept_.carried[i - ports.captured] = false;
      kept_.carried.resize(kept_.carried.size() + outer.size(), true);
      return add_states(i - ports.captured, outer);
    }
    const std::uint32_t scanned = i - ports.captured - ports.carried;
    kept_.scanned[scanned] = false;
    kept_.scanned.resize(kept_.scanned.size() + outer.size(), true);
    const std::vector<ir::ScannedPort> same(outer.size(), ports.scanned[scanned]);
    return add_scanned(module_, loop_, outer, same);
  }

  /// Names them as elements of the whole, for readers.
  void name_parts(ValueId whole, const Parts& parts) {
    const std::string name = module_.value(whole).name;
    if (name.empty()) return;
    for (std::size_t i = 0; i < parts.size(); ++i)
      module_.value(parts[i]).name = name + '[' + std::to_string(i) + ']';
  }

  /// Adds states with these initial values. Their next values are set when the body is split.
  Parts add_states(std::uint32_t carried, const Parts& initial) {
    Parts arguments, finals;
    for (const ValueId value : initial) {
      finals.push_back(add_carried(module_, loop_, value, value));
      const LoopPorts& ports = *module_.node(loop_).loop;
      arguments.push_back(module_.region(body_).args[ports.captured + ports.carried - 1]);
    }
    states_.push_back({carried, finals});
    return arguments;
  }

  Expected<void> split_yields(const LoopPorts& ports, const ir::Region& before) {
    std::size_t state = ports.first_carried_yield() + ports.carried;
    for (ValueId& yield : module_.region(body_).yields) yield = inside_.now(yield);
    for (const auto& [carried, finals] : states_)
      for (const ValueId part :
           inside_.parts_of(before.yields[ports.first_carried_yield() + carried]))
        module_.region(body_).yields[state++] = part;
    ir::Builder builder(module_, region_);
    builder.set_location(module_.node(loop_).location);
    const std::vector<ValueId> results = module_.node(loop_).outputs;
    for (const auto& [carried, finals] : states_) {
      const Split& split = *inside_.split_of(before.args[ports.captured + carried]);
      SCANLOOM_CHECK_OK(join(builder, results[carried], finals,
                             split.axis(inside_.rank_of(before.args[ports.captured + carried]))));
    }
    for (std::size_t i = 0; i < ports.stacked.size(); ++i) {
      const ValueId row = before.yields[ports.first_stacked_yield() + i];
      if (inside_.split_of(row) == nullptr) continue;
      const ValueId stack = results[results.size() - ports.stacked.size() + i];
      SCANLOOM_CHECK_OK(split_stack(builder, i, row, stack));
    }
    return {};
  }

  /// Stacks the parts instead of the row.
  Expected<void> split_stack(ir::Builder& builder, std::size_t i, ValueId row, ValueId stack) {
    const ir::StackedPort port = module_.node(loop_).loop->stacked[i];
    const Split& split = *inside_.split_of(row);
    const int in_row = split.axis(inside_.rank_of(row)),
              axis = in_row + (port.axis <= in_row ? 1 : 0);
    ir::Type type = module_.value(stack).type;
    type.dims[static_cast<std::size_t>(axis)] = split.part;
    const Parts& rows = inside_.parts_of(row);
    const std::vector<ir::StackedPort> ports(rows.size(), port);
    const std::vector<ir::Type> types(rows.size(), type);
    kept_.stacked[i] = false;
    kept_.stacked.resize(kept_.stacked.size() + rows.size(), true);
    const Parts stacks = add_stacked(module_, loop_, rows, ports, types);
    name_parts(stack, stacks);
    return join(builder, stack, stacks, axis);
  }

  Expected<void> join(ir::Builder& builder, ValueId whole, const Parts& parts, int axis) {
    SCANLOOM_TRY(const ValueId joined, builder.op(ops::concat_op, parts, {{"axis", axis}}));
    module_.value(joined).name = module_.value(whole).name;
    outside_.set(whole, joined);
    return {};
  }

  struct State {
    std::uint32_t carried;  ///< the port that it had
    Parts finals;
  };

  Module& module_;
  const NodeId loop_;
  const RegionId region_, body_;
  PartsOfBody inside_;
  ir::ValueMap& outside_;
  KeptPorts kept_;
  std::vector<State> states_;
};

}  // namespace

Expected<Change> scalarize_states(ir::Module& module) {
  std::optional<Error> error;
  const Change change = sweep_loops(module, [&](NodeId loop, ir::ValueMap& map) {
    const auto splits = values_in_parts(module, loop);
    if (splits.empty() || error) return Change{};
    if (auto split = Splitter(module, loop, splits, map).run(); !split)
      error = std::move(split).error();
    return Change{.changed = true};
  });
  if (error) return *std::move(error);
  return change;
}

}  // namespace scanloom::passes
