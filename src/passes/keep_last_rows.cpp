// A stack of which only the row of the last step is read gives way to that row, which the loop
// carries: it keeps one row and not one per step. It stands behind canonicalise, which turns parts
// into slices, and merge_common, which shows that a row is what the loop carries anyway; and before
// drop_dead_code, which removes the stack.
//
// Only loops that surely take a step: where there is no row, reading one is an error, or reads
// nothing.
#include <algorithm>
#include <utility>

#include "ops/ops.h"
#include "passes/loop_facts.h"
#include "passes/ports.h"
#include "passes/rewriter.h"
#include "passes/row_reads.h"

namespace scanloom::passes {
namespace {

using ir::LoopPorts;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::Type;
using ir::ValueId;

/// A state that is not there yet starts as zeros of at most so many elements.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 20;

/// The loops of one region.
class Keeper {
 public:
  Keeper(Module& module, ir::RegionId region, ir::ValueMap& map)
      : module_(module), region_(region), map_(map), readers_(module, region) {}

  Change run() {
    const std::vector<NodeId> nodes = std::exchange(module_.region(region_).nodes, {});
    for (const NodeId id : nodes) {
      if (module_.node(id).op == &ir::loop_op && surely_steps(module_, module_.node(id))) visit(id);
      module_.region(region_).nodes.push_back(id);
    }
    std::ranges::sort(replaced_);
    std::erase_if(module_.region(region_).nodes,
                  [&](NodeId id) { return std::ranges::binary_search(replaced_, id); });
    return change_;
  }

 private:
  void visit(NodeId loop) {
    for (std::size_t i = 0; i < module_.node(loop).loop->stacked.size(); ++i)
      if (const auto readers = readers_of_last(loop, i)) keep(loop, i, *readers);
  }

  /// The nodes that read the stack, if they read the last step's row and no other.
  std::optional<std::vector<NodeId>> readers_of_last(NodeId loop, std::size_t stacked) const {
    const Node& node = module_.node(loop);
    const ir::StackedPort& port = node.loop->stacked[stacked];
    if (!port.insert) return std::nullopt;
    const ValueId stack = node.outputs[node.loop->carried + stacked];
    auto readers = readers_.of(stack);
    if (!readers || readers->empty()) return std::nullopt;
    std::optional<std::int64_t> rows = known_steps(module_, node);
    if (rows == 0) return std::nullopt;
    const std::int64_t last = port.reverse ? 0 : rows ? *rows - 1 : -1;
    const bool fits = std::ranges::all_of(*readers, [&](NodeId reader) {
      const auto read = row_read(module_, module_.node(reader), stack, port.axis, rows);
      return read && read->first == last && read->last == last && reads_one(reader);
    });
    return fits ? readers : std::nullopt;
  }

  /// A gather may read one row several times.
  [[nodiscard]] bool reads_one(NodeId reader) const {
    const Node& node = module_.node(reader);
    return node.op != &ops::gather_op || constant_of(module_, node.inputs[1])->elements() == 1;
  }

  void keep(NodeId loop, std::size_t stacked, const std::vector<NodeId>& readers) {
    const auto row = last_row(loop, stacked);
    if (!row) return;
    const std::int64_t axis = module_.node(loop).loop->stacked[stacked].axis;
    for (const NodeId id : readers) {
      Node& reader = module_.node(id);
      if (has_row_axis(reader)) {
        reader.op = &ops::unsqueeze_op;
        reader.inputs = {*row};
        reader.attrs = {std::vector<std::int64_t>{axis}};
      } else {
        map_.set(reader.outputs[0], *row);
        replaced_.push_back(id);
      }
    }
    change_.changed = true;
  }

  [[nodiscard]] bool has_row_axis(const Node& reader) const {
    return reader.op == &ops::slice_op ||
           constant_of(module_, reader.inputs[1])->shape().rank() == 1;
  }

  /// The final value of what is, or from now on is, carried; nullopt where that cannot be.
  std::optional<ValueId> last_row(NodeId loop, std::size_t stacked) {
    const Node& node = module_.node(loop);
    const LoopPorts& ports = *node.loop;
    const std::vector<ValueId>& yields = module_.region(node.regions[0]).yields;
    const ValueId row = yields[ports.first_stacked_yield() + stacked];
    const Type type = module_.value(row).type;
    if (!sizes_are_sure(module_, type)) return std::nullopt;
    for (std::size_t i = 0; i < ports.carried; ++i)
      if (yields[ports.first_carried_yield() + i] == row) return node.outputs[i];
    if (!type.is_static() || type.dtype == DType::string) return std::nullopt;
    const auto elements = type.shape().checked_elements();
    if (!elements || *elements > kMaxElements) return std::nullopt;
    auto zeros = tensor::Tensor::zeros(type.dtype, type.shape());
    if (!zeros) return std::nullopt;
    // Nothing reads its elements: there is a step. It stands before the loop, which is not in the
    // region's new list yet.
    ir::Builder builder(module_, region_);
    builder.set_place(node.place);
    return add_carried(module_, loop, builder.constant(*std::move(zeros)), row);
  }

  Module& module_;
  const ir::RegionId region_;
  ir::ValueMap& map_;
  const StackReaders readers_;
  std::vector<NodeId> replaced_;  ///< nodes of which nothing is left
  Change change_;
};

}  // namespace

Expected<Change> keep_last_rows(ir::Module& module) {
  Change change;
  ir::ValueMap map(module);
  for (const ir::RegionId region : regions_outer_first(module, module.top()))
    change |= Keeper(module, region, map).run();
  map.apply(module);
  return change;
}

}  // namespace scanloom::passes
