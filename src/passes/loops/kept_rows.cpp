#include "passes/loops/kept_rows.h"

#include <algorithm>

#include "ops/ops.h"
#include "passes/analysis/loop_facts.h"
#include "passes/lifting/flow_of_results.h"
#include "passes/loops/tail_rows.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {

using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::Type;
using ir::ValueId;

namespace {

/// The limit for the bytes of kept rows: the loop may take fewer steps than there are rows.
constexpr std::int64_t kMaxBytesOfRing = std::int64_t{1} << 26;
/// If the number of steps is known, smaller stacks cost less than carrying rows.
constexpr std::int64_t kMinBytes = 64 * 1024;
/// The limit for rows whose sizes are not known when loading.
constexpr std::int64_t kMaxOpenRows = 256;

/// How many nodes may compute with the rows of a stack before some of them are picked.
constexpr std::size_t kMaxNodes = 32;

/// Returns how many of the last steps have made what is read; nullopt if that is not known.
std::optional<std::int64_t> steps_back(const RowRead& read, bool reverse,
                                       std::optional<std::int64_t> rows) {
  if (reverse) return read.first >= 0 ? std::optional(read.last + 1) : std::nullopt;
  if (rows) return *rows - read.first;
  return read.first < 0 && read.first > -kMaxBytesOfRing ? std::optional(-read.first)
                                                         : std::nullopt;
}

/// Whether carrying rows of that type takes less memory than the stack.
bool gains(const Type& row, std::int64_t count, std::optional<std::int64_t> rows) {
  if (!row.is_static()) return count <= kMaxOpenRows && (!rows || count <= *rows / 2);
  const auto elements = row.shape().checked_elements();
  if (!elements) return false;
  const std::int64_t bytes = *elements * static_cast<std::int64_t>(dtype_bytes(row.dtype));
  if (count > kMaxBytesOfRing / std::max<std::int64_t>(bytes, 1)) return false;
  return !rows || (count <= *rows / 2 && *rows >= kMinBytes / std::max<std::int64_t>(bytes, 1));
}

}  // namespace

KeptRowsFinder::KeptRowsFinder(Module& module, ir::RegionId region,
                               const std::vector<std::uint32_t>& uses)
    : module_(module), region_(region), uses_(uses), readers_(module, region) {
  const std::vector<NodeId>& nodes = module.region(region).nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i) positions_[nodes[i].index] = i;
}

std::optional<KeptRows> KeptRowsFinder::find(NodeId loop, std::size_t stacked) const {
  const Node& node = module_.node(loop);
  if (!rows_fit(node, stacked)) return std::nullopt;
  const std::optional<std::int64_t> rows = known_steps(module_, node);
  if (rows == 0) return std::nullopt;
  auto kept = readers_of(node, stacked, rows);
  if (!kept || (kept->readers.empty() && kept->sizes.empty())) return std::nullopt;
  // A row that is read only for its sizes must not make a loop of independent steps carry it.
  if (kept->readers.empty() && !is_carried(node, stacked)) return std::nullopt;
  const bool is_last_alone = kept->count == 1 && surely_steps(module_, node);
  if (!is_last_alone && !gains(row_type(node, stacked), kept->count, rows)) return std::nullopt;
  if (!is_carried(node, stacked) &&
      !TailRows(module_, region_, loop, stacked, kept->count).can_be_carried())
    return std::nullopt;
  return kept;
}

/// Follows the rows of a stack to where some of them are picked, in the order of the nodes.
std::optional<KeptRows> KeptRowsFinder::readers_of(const Node& loop, std::size_t stacked,
                                                   std::optional<std::int64_t> rows) const {
  const ir::StackedPort& port = loop.loop->stacked[stacked];
  const ValueId stack = loop.outputs[loop.loop->carried + stacked];
  KeptRows kept{
      .stacked = stacked, .count = 0, .readers = {}, .sizes = {}, .along = {}, .made = {}};
  std::map<ValueId, int> axes;
  std::map<std::size_t, NodeId> pending;
  const auto follow = [&](ValueId value, int axis) {
    axes[value] = axis;
    const auto readers = readers_.of(value);
    for (const NodeId id : readers.value_or(std::vector<NodeId>()))
      pending.emplace(positions_.at(id.index), id);
    return readers.has_value();
  };
  if (!follow(stack, static_cast<int>(port.axis))) return std::nullopt;
  for (std::size_t visited = 0; !pending.empty(); ++visited) {
    const NodeId id = pending.begin()->second;
    pending.erase(pending.begin());
    const Node& node = module_.node(id);
    if (node.inputs[0] == stack && (node.op == &ops::dim_op || node.op == &ops::shape_op)) {
      kept.count = std::max<std::int64_t>(kept.count, 1);
      kept.sizes.push_back(id);
      continue;
    }
    const auto first = axes.find(node.inputs[0]);
    const auto read = first != axes.end() ? row_read(module_, node, {first->first, first->second},
                                                     {stack, port.axis}, rows)
                                          : std::nullopt;
    if (const auto back = read ? steps_back(*read, port.reverse, rows) : std::nullopt) {
      kept.count = std::max(kept.count, *back);
      kept.readers.push_back({id, *read, *back, first->first == stack});
      continue;
    }
    const auto axis = visited < kMaxNodes ? axis_after(node, axes, stack) : std::nullopt;
    if (!axis) return std::nullopt;
    if (std::ranges::find(node.inputs, stack) != node.inputs.end()) kept.along.push_back(id);
    for (const ValueId output : node.outputs) {
      kept.made.emplace_back(output, *axis);
      if (!follow(output, *axis)) return std::nullopt;
    }
  }
  return kept;
}

/// Returns the axis of the rows in the results of a node that makes each from the same rows of
/// its operands. nullopt: it does not, or it reads the number of rows.
std::optional<int> KeptRowsFinder::axis_after(const Node& node, const std::map<ValueId, int>& axes,
                                              ValueId stack) const {
  const auto is_ranked = [&](ValueId value) {
    const Type* const type = value.valid() ? &module_.value(value).type : nullptr;
    return type == nullptr || (type->is_tensor() && type->ranked);
  };
  if (!std::ranges::all_of(node.inputs, is_ranked) ||
      !std::ranges::all_of(node.outputs, is_ranked) || !node.regions.empty() ||
      node.op == &ops::reshape_op || node.op == &ops::flatten_op || node.op == &ops::expand_op)
    return std::nullopt;
  flows_.resize(std::max(flows_.size(), module_.value_count()));
  for (const auto& [value, axis] : axes)
    flows_[value.index] = {.kind = StepFlow::Kind::along, .axis = axis};
  const auto stack_axis = static_cast<std::size_t>(axes.at(stack));
  const auto flow = flow_of_results(
      {module_, node, flows_, uses_, module_.dims, module_.value(stack).type.dims[stack_axis]});
  for (const auto& [value, axis] : axes) flows_[value.index] = {};
  if (!flow || flow->kind != StepFlow::Kind::along || flow->each != ir::Dim(1)) return std::nullopt;
  return flow->axis;
}

const Type& KeptRowsFinder::row_type(const Node& loop, std::size_t stacked) const {
  return module_.value(row_of(loop, stacked)).type;
}

ValueId KeptRowsFinder::row_of(const Node& loop, std::size_t stacked) const {
  return module_.region(loop.regions[0]).yields[loop.loop->first_stacked_yield() + stacked];
}

/// Whether the sizes of rows are known (sizes_are_sure), and each step makes one row.
bool KeptRowsFinder::rows_fit(const Node& loop, std::size_t stacked) const {
  const ir::StackedPort& port = loop.loop->stacked[stacked];
  const Type& row = row_type(loop, stacked);
  if (!row.is_tensor() || row.dtype == DType::string || !sizes_are_sure(module_, row) ||
      row.rank() >= tensor::kMaxRank)
    return false;
  return port.insert ||
         (port.axis < row.rank() && row.dims[static_cast<std::size_t>(port.axis)] == ir::Dim(1));
}

/// Whether the loop carries the row of the last step anyway.
bool KeptRowsFinder::is_carried(const Node& loop, std::size_t stacked) const {
  const std::vector<ValueId>& yields = module_.region(loop.regions[0]).yields;
  const auto first = yields.begin() + loop.loop->first_carried_yield();
  return std::find(first, first + loop.loop->carried, row_of(loop, stacked)) !=
         first + loop.loop->carried;
}

}  // namespace scanloom::passes
