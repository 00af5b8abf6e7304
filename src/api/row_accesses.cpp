#include "api/row_accesses.h"

#include <algorithm>
#include <limits>

#include "ir/constants.h"
#include "ir/node_attr.h"
#include "ops/composer.h"
#include "ops/index/scatter_slice.h"
#include "ops/ops.h"

namespace scanloom {
namespace {

using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

/// Runs `make` with a builder whose nodes come before the given one, with its location.
template <class Make>
ValueId built_before(Module& module, NodeId before, Make&& make) {
  const ir::RegionId region = module.node(before).parent;
  const std::size_t old = module.region(region).nodes.size();
  ir::Builder builder(module, region);
  builder.set_location(module.node(before).location);
  ops::Composer composer(builder);
  const ValueId made = make(composer);
  std::vector<NodeId>& nodes = module.region(region).nodes;
  std::rotate(std::ranges::find(nodes, before), nodes.begin() + static_cast<std::ptrdiff_t>(old),
              nodes.end());
  return composer.ok() ? made : ValueId();
}

/// Which operand holds the indices, and whether these are tuples.
struct IndexOperand {
  std::size_t operand = 1;
  bool tuples = false;
  bool list = false;  ///< a list of single indices, by axis
};

std::optional<IndexOperand> index_operand(const Module& module, const Node& node) {
  const int rank = module.value(node.inputs[0]).type.rank();
  if (node.op == &ops::gather_op) {
    const std::int64_t axis = ir::attr_of(node, "axis").integer();
    return axis == 0 || axis == -rank ? std::optional(IndexOperand{}) : std::nullopt;
  }
  if (node.op == &ops::scatter_nd_op) return IndexOperand{.tuples = true};
  if (node.op == &ops::gather_nd_op && ir::attr_of(node, "batch_dims").integer() == 0)
    return IndexOperand{.tuples = true};
  if (node.op == &ops::scatter_slice_op) {
    namespace slice = ops::scatter_slice;
    const std::vector<std::int64_t>& picked = node.attrs[slice::kPicked].integers();
    if (!picked.empty() && (picked[0] == 0 || picked[0] == -rank))
      return IndexOperand{.operand = slice::kIndices, .tuples = true, .list = true};
  }
  return std::nullopt;
}

/// The last axis of tuples, whose first column is the row.
int last_axis(const Module& module, ValueId tuples) { return module.value(tuples).type.rank() - 1; }

bool adds_last_axis(const Module& module, const Node& node, int axis) {
  if (node.op != &ops::unsqueeze_op) return false;
  const std::vector<std::int64_t>& axes = ir::attr_of(node, "axes").integers();
  const int rank = module.value(node.outputs[0]).type.rank();
  return axes.size() == 1 && (axes[0] < 0 ? axes[0] + rank : axes[0]) == axis;
}

/// What an unsqueeze along the last axis makes the first column of the tuples from, if anything.
ValueId first_column(const Module& module, ValueId tuples) {
  const int axis = last_axis(module, tuples);
  ValueId column = tuples;
  NodeId id = module.value(column).producer;
  if (id.valid() && module.node(id).op == &ops::concat_op) {
    column = module.node(id).inputs[0];
    id = module.value(column).producer;
  }
  if (!id.valid() || !adds_last_axis(module, module.node(id), axis)) return {};
  return module.node(id).inputs[0];
}

std::optional<ValueId> rows_of(Module& module, NodeId id, const IndexOperand& index) {
  const ValueId given = module.node(id).inputs[index.operand];
  const tensor::Type& type = module.value(given).type;
  if (!type.ranked) return std::nullopt;
  if (!index.tuples) return given;
  if (type.rank() < 1) return std::nullopt;
  if (const ValueId column = first_column(module, given); column.valid()) return column;
  const ValueId made = built_before(module, id, [&](ops::Composer& c) {
    return c.gather(given, c.number(0), last_axis(module, given));
  });
  return made.valid() ? std::optional(made) : std::nullopt;
}

/// Whether the node's result has the rows of its operand, each made from that row alone.
bool keeps_rows(const Module& module, const Node& node) {
  const tensor::Type& type = module.value(node.inputs[0]).type;
  if (node.op == &ops::identity_op) return true;
  if (node.op == &ops::gather_op) {
    const std::int64_t axis = ir::attr_of(node, "axis").integer();
    return axis != 0 && axis != -type.rank();
  }
  if (node.op != &ops::slice_op || node.inputs.size() < 4 || !node.inputs[3].valid()) return false;
  const tensor::Tensor* const axes = ir::constant_of(module, node.inputs[3]);
  if (axes == nullptr || axes->dtype() != DType::i64) return false;
  return std::ranges::none_of(axes->as<std::int64_t>(),
                              [&](std::int64_t axis) { return axis == 0 || axis == -type.rank(); });
}

/// Follows `last` back to `base` and fills in path, loops and tables.
bool find_path(const Module& module, ValueId base, ValueId last, RegionAccesses& found) {
  const tensor::Type& type = module.value(base).type;
  const ir::RegionId region = module.value(base).region;
  for (ValueId at = last; at != base;) {
    const NodeId id = module.value(at).producer;
    if (!id.valid() || module.node(id).parent != region || module.value(at).type != type)
      return false;
    const Node& node = module.node(id);
    found.tables.insert(at);
    found.path.insert(id);
    if (node.op->writes_part || node.op == &ops::identity_op) {
      at = node.inputs[0];
    } else if (node.op == &ir::loop_op && module.value(at).index < node.loop->carried) {
      found.loops.push_back(id);
      at = node.inputs[node.loop->first_carried_input() + module.value(at).index];
    } else {
      return false;
    }
  }
  return !found.path.empty();
}

}  // namespace

std::optional<RegionAccesses> isolate_row_indices(Module& module, ValueId base, ValueId last,
                                                  bool is_own) {
  if (!module.value(base).type.ranked || module.value(base).type.rank() < 1) return std::nullopt;
  RegionAccesses found;
  if (!find_path(module, base, last, found)) return std::nullopt;
  if (is_own) found.tables.insert(base);
  const auto is_table = [&](ValueId value) { return found.tables.contains(value); };
  const std::vector<NodeId> nodes = module.region(module.value(base).region).nodes;
  for (const NodeId id : nodes) {
    const bool on_path = found.path.contains(id);
    const std::vector<ValueId> inputs = module.node(id).inputs;
    const auto reads = std::ranges::count_if(inputs, is_table);
    if (reads == 0 && !on_path) continue;
    const Node& node = module.node(id);
    if (reads > 1 || node.op == &ir::branch_op) return std::nullopt;
    if (node.op == &ir::loop_op) {
      if (!on_path) return std::nullopt;
      continue;
    }
    if (!is_table(inputs[0]) && !(on_path && inputs[0] == base)) return std::nullopt;
    if (node.op == &ops::dim_op || node.op == &ops::shape_op) {
      if (module.value(inputs[0]).type != module.value(base).type) return std::nullopt;
      found.sizes.push_back(id);
    } else if (const auto index = index_operand(module, node)) {
      const auto rows = rows_of(module, id, *index);
      if (!rows) return std::nullopt;
      found.accesses.push_back({id, *rows});
    } else if (keeps_rows(module, node)) {
      found.tables.insert(node.outputs[0]);
    } else {
      return std::nullopt;
    }
  }
  return found;
}

void set_rows(Module& module, const RowAccess& access, ValueId rows) {
  const IndexOperand index = *index_operand(module, module.node(access.node));
  const ValueId given = module.node(access.node).inputs[index.operand];
  ValueId made = rows;
  if (index.tuples) {
    made = built_before(module, access.node, [&](ops::Composer& c) {
      const std::int64_t axis = last_axis(module, given);
      const ValueId column = c.unsqueeze(rows, {axis});
      if (module.value(given).type.dims.back() == tensor::Dim(1)) return column;
      const ValueId others = c.slice(given, axis, 1, std::numeric_limits<std::int64_t>::max());
      return c.concat({column, others}, axis);
    });
  }
  module.node(access.node).inputs[index.operand] = made;
}

std::set<ValueId> dependent_values(const Module& module, NodeId loop,
                                   const std::set<ValueId>& values) {
  const ir::Region& body = module.region(module.node(loop).regions[0]);
  const ir::LoopPorts& ports = *module.node(loop).loop;
  std::set<ValueId> found = values;
  for (bool grows = true; grows;) {
    grows = false;
    for (const NodeId id : body.nodes) {
      const Node& node = module.node(id);
      if (std::ranges::none_of(node.inputs, [&](ValueId x) { return found.contains(x); })) continue;
      if (node.op == &ops::dim_op || node.op == &ops::shape_op) continue;
      for (const ValueId output : node.outputs) grows |= found.insert(output).second;
    }
    for (std::size_t i = 0; i < ports.carried; ++i)
      if (found.contains(body.yields[ports.first_carried_yield() + i]))
        grows |= found.insert(body.args[ports.captured + i]).second;
  }
  return found;
}

}  // namespace scanloom
