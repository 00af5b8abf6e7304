#include "passes/loops/last_rows.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "ops/lift_rules.h"
#include "ops/ops.h"
#include "passes/analysis/loop_facts.h"
#include "passes/loops/kept_rows.h"
#include "passes/loops/tail_rows.h"
#include "passes/rewrite/ports.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

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

/// The loops of one region.
class Keeper {
 public:
  Keeper(Module& module, ir::RegionId region, Counted counted,
         const std::vector<std::uint32_t>& uses, ir::ValueMap& map)
      : module_(module),
        region_(region),
        counted_(counted),
        map_(map),
        finder_(module, region, uses) {}

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
      if (auto kept = finder_.find(loop, i)) all.push_back(*std::move(kept));
    return all;
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
    for (const RowReader& reader : kept.readers) {
      index_by_constant(reader.node);
      const bool is_there =
          reader.of_stack && reader.back <= least && reader.rows.first == reader.rows.last;
      if (is_there && reread_one(reader.node, port, tail.row(reader.back))) continue;
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
    ir::Builder after_loop(module_, region_);
    after_loop.set_location(node.location);
    const tensor::Shape shape = module_.value(node.inputs[1]).type.shape();
    const ValueId index = after_loop.constant(tensor::Tensor::of<std::int64_t>(shape, {{-1}}));
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
  void renumber(const RowReader& reader, std::int64_t rows, std::int64_t first) {
    ir::Builder after_loop(module_, region_);
    after_loop.set_location(module_.node(reader.node).location);
    const std::vector<ValueId> inputs = module_.node(reader.node).inputs;
    if (module_.node(reader.node).op == &ops::gather_op) {
      const tensor::Tensor& indices = *constant_of(module_, inputs[1]);
      std::vector<std::int64_t> numbers = *tensor::to_integers(indices);
      for (std::int64_t& number : numbers) number += (number < 0 ? rows : 0) - first;
      const auto shape = indices.shape();
      const ValueId list = after_loop.constant(tensor::Tensor::of<std::int64_t>(shape, numbers));
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
    const ValueId starts = list_of(after_loop, {start}), ends = list_of(after_loop, {end});
    module_.node(reader.node).inputs[kStarts] = starts;
    module_.node(reader.node).inputs[kEnds] = ends;
  }

  Module& module_;
  const ir::RegionId region_;
  const Counted counted_;
  ir::ValueMap& map_;
  const KeptRowsFinder finder_;
  std::vector<NodeId> replaced_;  ///< nodes of which nothing is left
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
