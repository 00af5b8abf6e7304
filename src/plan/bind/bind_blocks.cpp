// Rows that a loop scans and that are made in blocks of steps (block_plan.h): the nodes that make
// them are bound to the rows of a block, by a list of instructions that a run executes before the
// first step of every block. Memory is that of a block, whatever the number of steps, and the steps
// read it from the cache. All blocks have the same number of rows. The first is left after as many
// steps as the others leave over, so that each begins with its first row.
#include <algorithm>

#include "plan/bind/binder.h"

namespace scanloom::plan {

/// Nodes whose results are made in blocks are bound with the loop that scans these.
void Binder::leave_to_loops() {
  uses_of_elements_ = uses_of_elements(module_, inference_);
  block_plans_ = find_blocks(module_, inference_, uses_of_elements_);
  is_made_in_blocks_.resize(module_.node_count());
  for (const auto& [loop, plan] : block_plans_)
    for (const RowMakers& makers : plan.ports)
      for (const ir::NodeId node : makers.nodes) is_made_in_blocks_[node.index] = true;
}

/// Whether all that the nodes read lies in memory whose place binding knows.
bool Binder::reads_are_bound(const RowMakers& makers) {
  const auto is_bound = [&](ir::ValueId value) {
    if (!value.valid()) return true;
    if (std::ranges::find(makers.made, value, &RowsOf::value) != makers.made.end()) return true;
    const Spot spot = location(value).spot;
    return spot.present() && !spot.is_dynamic() && !spot.is_object();
  };
  return std::ranges::all_of(makers.nodes, [&](ir::NodeId id) {
    return std::ranges::all_of(module_.node(id).inputs, is_bound);
  });
}

/// Binds what makes the rows of a loop in blocks, if there is such. Its instructions are kept for
/// end_blocks(), which appends them to that of the loop.
Expected<void> Binder::begin_blocks(ir::NodeId id, BoundLoop& loop) {
  const auto found = block_plans_.find(id.index);
  if (found == block_plans_.end()) return {};
  const BlockPlan plan = std::move(found->second);
  block_plans_.erase(found);
  for (const RowMakers& makers : plan.ports)
    for (const ir::NodeId maker : makers.nodes) is_made_in_blocks_[maker.index] = false;
  const bool bound = std::ranges::all_of(
      plan.ports, [&](const RowMakers& makers) { return reads_are_bound(makers); });
  if (!bound) {
    for (const RowMakers& makers : plan.ports)
      for (const ir::NodeId maker : makers.nodes) SCANLOOM_CHECK_OK(bind_node(maker));
    return {};
  }
  loop.blocks.rows = plan.rows;
  loop.blocks.steps = plan.steps;
  loop.blocks.ports.resize(module_.node(id).loop->scanned.size());
  const std::size_t first = out_->code.size();
  touched_in_blocks_.emplace();
  for (const RowMakers& makers : plan.ports) SCANLOOM_CHECK_OK(bind_block(makers, loop));
  for (const BufferId buffer : *touched_in_blocks_) loop.blocks.buffers.push_back(buffer);
  touched_in_blocks_.reset();
  block_code_.assign(out_->code.begin() + static_cast<std::ptrdiff_t>(first), out_->code.end());
  out_->code.resize(first);
  touch_blocks(loop);
  return {};
}

/// The nodes see types and places of one block.
Expected<void> Binder::bind_block(const RowMakers& makers, BoundLoop& loop) {
  const auto rows_of_block = [&](const RowsOf& rows) {
    tensor::Shape dims = type(rows.value).shape();
    dims[rows.axis] = loop.blocks.steps;
    return dims;
  };
  std::vector<Location> whole;
  for (const RowsOf& rows : makers.read) {
    whole.push_back(location(rows.value));
    Location block = whole.back();
    const Layout from = layout(block.spot);
    block.spot.slot = new_slot();
    block.spot.offset = 0;
    block.spot.buffer = kNone;
    block.spot.layout = add_layout(rows_of_block(rows), from.strides);
    loop.blocks.inputs.push_back({block.spot.slot, whole.back().spot,
                                  from.strides[rows.axis] * bytes_of(block.spot.dtype),
                                  makers.backwards});
    set_location(rows.value, block);
  }
  std::vector<tensor::Type> types;
  for (const RowsOf& rows : makers.made) {
    types.push_back(type(rows.value));
    inference_.types[rows.value.index] = tensor::Type::of(types.back().dtype, rows_of_block(rows));
  }
  for (const ir::NodeId node : makers.nodes) SCANLOOM_CHECK_OK(bind_node(node));
  for (std::size_t i = 0; i < types.size(); ++i)
    inference_.types[makers.made[i].value.index] = types[i];
  for (std::size_t i = 0; i < whole.size(); ++i) set_location(makers.read[i].value, whole[i]);
  // The loop walks over a value with all its rows.
  const ir::ValueId scanned = makers.made[0].value;
  Location rows = location(scanned);
  const tensor::Shape strides = layout(rows.spot).strides;
  rows.spot.layout = add_layout(type(scanned).shape(), strides);
  set_location(scanned, rows);
  loop.blocks.ports[makers.port] = true;
  if (loop.blocks.steps == loop.blocks.rows) return {};
  loop.notes.rows_made += fmt::format("; rows of {} are made in blocks of {} steps",
                                      module_.describe(scanned), loop.blocks.steps);
  return {};
}

/// They are read and written as long as the loop runs.
void Binder::touch_blocks(const BoundLoop& loop) {
  for (const BufferId buffer : loop.blocks.buffers) arena_.use(buffer);
}

/// Behind the instruction of the loop.
void Binder::end_blocks(BoundLoop& loop) {
  if (loop.blocks.steps == 0) return;
  loop.blocks.first = static_cast<std::uint32_t>(out_->code.size());
  out_->code.insert(out_->code.end(), block_code_.begin(), block_code_.end());
  out_->code.push_back({Op::end, 0});
}

}  // namespace scanloom::plan
