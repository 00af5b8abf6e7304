#include "passes/loops/last_rows.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "ops/ops.h"
#include "passes/analysis/loop_facts.h"
#include "passes/analysis/row_reads.h"
#include "passes/lifting/lift_rules.h"
#include "passes/lifting/step_rules.h"
#include "passes/loops/tail_rows.h"
#include "passes/rewrite/ports.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::Type;
using ir::ValueId;

/// The limit for the bytes of kept rows: the loop may take fewer steps than there are rows.
constexpr std::int64_t kMaxBytesOfRing = std::int64_t{1} << 26;
/// If the number of steps is known, smaller stacks cost less than carrying rows.
constexpr std::int64_t kMinBytes = 64 * 1024;
/// The limit for rows whose sizes are not known when loading.
constexpr std::int64_t kMaxOpenRows = 256;

/// How many nodes may compute with the rows of a stack before some of them are picked.
constexpr std::size_t kMaxNodes = 32;

/// A node that picks rows of a stack, or of the values that nodes compute from each of its rows.
struct Reader {
  NodeId node;
  RowRead rows;
  bool of_stack = true;
};

/// The last `count` rows of a stack, and everything that reads it.
struct KeptRows {
  std::size_t stacked = 0;
  std::int64_t count = 0;
  std::vector<Reader> readers;
  std::vector<NodeId> sizes;  ///< nodes that read the sizes of the stack, such as the number of
                              ///< rows
  std::vector<NodeId> along;  ///< nodes that read all rows of the stack and make equally many
  std::vector<std::pair<ValueId, int>> made;  ///< values with equally many rows, and the axis of
                                              ///< these
};

/// Whether the value is computed from sizes of other values: a stream cuts those into pieces.
bool counts_elements(const Module& module, ValueId value) {
  std::vector<ValueId> pending{value};
  std::set<ValueId> seen;
  while (!pending.empty()) {
    const ValueId id = pending.back();
    pending.pop_back();
    if (!id.valid() || !seen.insert(id).second || !module.value(id).producer.valid()) continue;
    const Node& node = module.node(module.value(id).producer);
    if (node.op == &ops::dim_op || node.op == &ops::shape_op) return true;
    pending.insert(pending.end(), node.inputs.begin(), node.inputs.end());
  }
  return false;
}

/// Whether only sizes of its operands determine the loop's number of steps.
bool is_counted_by_sizes(const Module& module, const Node& loop) {
  if (known_steps(module, loop) || !runs_to_the_end(module, loop)) return false;
  if (loop.loop->has_trip_count && !counts_without_end(module, loop))
    return counts_elements(module, loop.inputs[0]);
  return !loop.loop->scanned.empty();
}

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

/// The loops of one region.
class Keeper {
 public:
  Keeper(Module& module, ir::RegionId region, Counted counted,
         const std::vector<std::uint32_t>& uses, ir::ValueMap& map)
      : module_(module),
        region_(region),
        counted_(counted),
        uses_(uses),
        map_(map),
        readers_(module, region) {
    const std::vector<NodeId>& nodes = module.region(region).nodes;
    for (std::size_t i = 0; i < nodes.size(); ++i) positions_[nodes[i].index] = i;
  }

  [[nodiscard]] bool finds_any() const {
    return std::ranges::any_of(module_.region(region_).nodes, [&](NodeId id) {
      return module_.node(id).op == &ir::loop_op && !kept_of(id).empty();
    });
  }

  Expected<Change> run(bool remove_stacks) {
    const std::vector<NodeId> nodes = std::exchange(module_.region(region_).nodes, {});
    std::optional<Error> error;
    for (const NodeId id : nodes) {
      const bool visits = !error && module_.node(id).op == &ir::loop_op;
      if (auto kept = visits ? keep(id, remove_stacks) : Expected<void>(); !kept)
        error = std::move(kept).error();
      if (!visits) module_.region(region_).nodes.push_back(id);
    }
    if (error) return *std::move(error);
    std::ranges::sort(replaced_);
    std::erase_if(module_.region(region_).nodes,
                  [&](NodeId id) { return std::ranges::binary_search(replaced_, id); });
    return change_;
  }

 private:
  [[nodiscard]] std::vector<KeptRows> kept_of(NodeId loop) const {
    std::vector<KeptRows> all;
    const Node& node = module_.node(loop);
    if (counted_ == Counted::by_values && is_counted_by_sizes(module_, node)) return all;
    for (std::size_t i = 0; i < node.loop->stacked.size(); ++i)
      if (auto kept = kept_rows(loop, i)) all.push_back(*std::move(kept));
    return all;
  }

  /// nullopt: other rows of the stack are read, or the stack is cheaper.
  [[nodiscard]] std::optional<KeptRows> kept_rows(NodeId loop, std::size_t stacked) const {
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
  [[nodiscard]] std::optional<KeptRows> readers_of(const Node& loop, std::size_t stacked,
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
        kept.readers.push_back({id, *read, first->first == stack});
        continue;
      }
      const auto axis = visited < kMaxNodes ? axis_behind(node, axes, stack) : std::nullopt;
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
  [[nodiscard]] std::optional<int> axis_behind(const Node& node, const std::map<ValueId, int>& axes,
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
    if (!flow || flow->kind != StepFlow::Kind::along || flow->each != ir::Dim(1))
      return std::nullopt;
    return flow->axis;
  }

  [[nodiscard]] const Type& row_type(const Node& loop, std::size_t stacked) const {
    return module_.value(row_of(loop, stacked)).type;
  }
  [[nodiscard]] ValueId row_of(const Node& loop, std::size_t stacked) const {
    return module_.region(loop.regions[0]).yields[loop.loop->first_stacked_yield() + stacked];
  }

  /// Whether the sizes of rows are known (sizes_are_sure), and each step makes one row.
  [[nodiscard]] bool rows_fit(const Node& loop, std::size_t stacked) const {
    const ir::StackedPort& port = loop.loop->stacked[stacked];
    const Type& row = row_type(loop, stacked);
    if (!row.is_tensor() || row.dtype == DType::string || !sizes_are_sure(module_, row) ||
        row.rank() >= tensor::kMaxRank)
      return false;
    return port.insert ||
           (port.axis < row.rank() && row.dims[static_cast<std::size_t>(port.axis)] == ir::Dim(1));
  }

  /// Whether the loop carries the row of the last step anyway.
  [[nodiscard]] bool is_carried(const Node& loop, std::size_t stacked) const {
    const std::vector<ValueId>& yields = module_.region(loop.regions[0]).yields;
    const auto first = yields.begin() + loop.loop->first_carried_yield();
    return std::find(first, first + loop.loop->carried, row_of(loop, stacked)) !=
           first + loop.loop->carried;
  }

  /// The region's list ends before the loop, and later after it.
  Expected<void> keep(NodeId loop, bool remove_stacks) {
    const std::vector<KeptRows> all = kept_of(loop);
    std::vector<TailRows> tails;
    for (const KeptRows& kept : all)
      tails.emplace_back(module_, region_, loop, kept.stacked, kept.count);
    for (std::size_t i = 0; i < all.size(); ++i)
      SCANLOOM_CHECK_OK(tails[i].carry(!all[i].sizes.empty()));
    module_.region(region_).nodes.push_back(loop);
    for (std::size_t i = 0; i < all.size(); ++i) SCANLOOM_CHECK_OK(reread(loop, all[i], tails[i]));
    change_.changed |= !all.empty();
    if (!remove_stacks || all.empty()) return {};
    KeptPorts ports(*module_.node(loop).loop);
    for (const KeptRows& kept : all) ports.stacked[kept.stacked] = false;
    keep_ports(module_, loop, ports);
    return {};
  }

  Expected<void> reread(NodeId loop, const KeptRows& kept, TailRows& tail) {
    const std::optional<std::int64_t> rows = known_steps(module_, module_.node(loop));
    const std::int64_t least = rows.value_or(surely_steps(module_, module_.node(loop)) ? 1 : 0);
    const ir::StackedPort port = module_.node(loop).loop->stacked[kept.stacked];
    for (const Reader& reader : kept.readers) {
      index_by_constant(reader.node);
      const std::int64_t back = *steps_back(reader.rows, port.reverse, rows);
      const bool is_there =
          reader.of_stack && back <= least && reader.rows.first == reader.rows.last;
      if (is_there && reread_one(reader.node, port, tail.row(back))) continue;
      if (reader.of_stack) {
        SCANLOOM_TRY(module_.node(reader.node).inputs[0], tail.together());
      }
      if (rows) renumber(reader, *rows, port.reverse ? 0 : *rows - kept.count);
    }
    for (const NodeId id : kept.sizes) {
      SCANLOOM_TRY(const ValueId sizes, tail.sizes_for(id));
      map_.set(module_.node(id).outputs[0], sizes);
      replaced_.push_back(id);
    }
    if (kept.along.empty()) return {};
    const Node& node = module_.node(loop);
    const ValueId stack = node.outputs[node.loop->carried + kept.stacked];
    const std::int64_t axis = node.loop->stacked[kept.stacked].axis;
    SCANLOOM_TRY(const ValueId together, tail.together());
    for (const NodeId id : kept.along)
      std::ranges::replace(module_.node(id).inputs, stack, together);
    const ir::Dim left = module_.value(together).type.dims[static_cast<std::size_t>(axis)];
    for (const auto& [value, of_rows] : kept.made)
      module_.value(value).type.dims[static_cast<std::size_t>(of_rows)] = left;
    return {};
  }

  /// Gives a gather whose index is computed from the number of rows a constant index for the last
  /// row.
  void index_by_constant(NodeId id) {
    const Node& node = module_.node(id);
    if (node.op != &ops::gather_op || constant_of(module_, node.inputs[1]) != nullptr) return;
    ir::Builder behind(module_, region_);
    behind.set_location(node.location);
    const tensor::Shape shape = module_.value(node.inputs[1]).type.shape();
    const ValueId index = behind.constant(tensor::Tensor::of<std::int64_t>(shape, {{-1}}));
    module_.node(id).inputs[1] = index;
  }

  /// Replaces what reads the row alone. Returns whether it could.
  bool reread_one(NodeId id, const ir::StackedPort& port, std::optional<ValueId> row) {
    Node& reader = module_.node(id);
    const bool gathers = reader.op == &ops::gather_op;
    if (!row || (gathers && constant_of(module_, reader.inputs[1])->elements() != 1)) return false;
    const bool has_axis = !gathers || constant_of(module_, reader.inputs[1])->shape().rank() == 1;
    if (has_axis == port.insert) {
      reader.op = port.insert ? &ops::unsqueeze_op : &ops::squeeze_op;
      reader.inputs = {*row};
      reader.attrs = {std::vector<std::int64_t>{port.axis}};
    } else {
      map_.set(reader.outputs[0], *row);
      replaced_.push_back(id);
    }
    return true;
  }

  /// Renumbers a read of `rows` rows, of which only those from `first` on remain.
  void renumber(const Reader& reader, std::int64_t rows, std::int64_t first) {
    ir::Builder behind(module_, region_);
    behind.set_location(module_.node(reader.node).location);
    const std::vector<ValueId> inputs = module_.node(reader.node).inputs;
    if (module_.node(reader.node).op == &ops::gather_op) {
      const tensor::Tensor& indices = *constant_of(module_, inputs[1]);
      std::vector<std::int64_t> numbers = *tensor::to_integers(indices);
      for (std::int64_t& number : numbers) number += (number < 0 ? rows : 0) - first;
      const auto shape = indices.shape();
      const ValueId list = behind.constant(tensor::Tensor::of<std::int64_t>(shape, numbers));
      module_.node(reader.node).inputs[1] = list;
      return;
    }
    constexpr std::size_t kStarts = 1, kEnds = 2, kSteps = 4;
    const bool forward = inputs.size() <= kSteps || !inputs[kSteps].valid() ||
                         tensor::to_integers(*constant_of(module_, inputs[kSteps]))->front() > 0;
    std::int64_t start = reader.rows.first - first, end = reader.rows.last - first + 1;
    if (!forward) {
      std::swap(start, end);
      --start;
      // Below 0 it would count from the end.
      if (--end < 0) end = std::numeric_limits<std::int64_t>::min();
    }
    const ValueId starts = list_of(behind, {start}), ends = list_of(behind, {end});
    module_.node(reader.node).inputs[kStarts] = starts;
    module_.node(reader.node).inputs[kEnds] = ends;
  }

  Module& module_;
  const ir::RegionId region_;
  const Counted counted_;
  const std::vector<std::uint32_t>& uses_;
  ir::ValueMap& map_;
  const Readers readers_;
  std::unordered_map<std::uint32_t, std::size_t> positions_;  ///< of the nodes in the region
  mutable std::vector<StepFlow> flows_;  ///< by ValueId; between uses, none is along the rows
  std::vector<NodeId> replaced_;         ///< nodes of which nothing is left
  Change change_;
};

bool has_stacks(const Node& node) { return node.op == &ir::loop_op && !node.loop->stacked.empty(); }

std::vector<ir::RegionId> regions_with_stacks(const Module& module) {
  std::vector<ir::RegionId> regions = regions_outer_first(module, module.top());
  std::erase_if(regions, [&](ir::RegionId region) {
    return std::ranges::none_of(module.region(region).nodes,
                                [&](NodeId id) { return has_stacks(module.node(id)); });
  });
  return regions;
}

}  // namespace

Expected<Change> keep_rows_of_last_steps(Module& module, Counted counted, bool remove_stacks) {
  Change change;
  ir::ValueMap map(module);
  const std::vector<std::uint32_t> uses = count_uses(module);
  for (const ir::RegionId region : regions_with_stacks(module)) {
    SCANLOOM_TRY(const Change here, Keeper(module, region, counted, uses, map).run(remove_stacks));
    change |= here;
  }
  map.apply(module);
  return change;
}

bool has_loops_counted_by_sizes(const Module& module) {
  return std::ranges::any_of(regions_with_stacks(module), [&](ir::RegionId region) {
    return std::ranges::any_of(module.region(region).nodes, [&](NodeId id) {
      const Node& node = module.node(id);
      return has_stacks(node) && is_counted_by_sizes(module, node);
    });
  });
}

bool has_rows_of_last_steps(Module& module, Counted counted) {
  ir::ValueMap map(module);
  const std::vector<std::uint32_t> uses = count_uses(module);
  return std::ranges::any_of(regions_with_stacks(module), [&](ir::RegionId region) {
    return Keeper(module, region, counted, uses, map).finds_any();
  });
}

}  // namespace scanloom::passes
