#include "plan/bind/blocks.h"

#include <algorithm>
#include <iterator>

#include "plan/bind/pipelined_projection.h"
#include "plan/bind/walk.h"

namespace scanloom::plan {
namespace {

/// Binds a node that computes rows of a scanned port, after deciding whether the steps compute
/// them.
Expected<void> bind_maker(BindContext& ctx, ir::NodeId node, const BoundLoop& loop,
                          std::size_t port) {
  if (ctx.pipeline) ctx.pipeline->consider(node, loop, port);
  return bind_node(ctx, node);
}

/// Whether everything that the nodes read is in memory that binding knows.
bool reads_are_bound(BindContext& ctx, const RowMakers& makers) {
  const auto is_bound = [&](ir::ValueId value) {
    if (!value.valid()) return true;
    if (std::ranges::find(makers.made, value, &RowsOf::value) != makers.made.end()) return true;
    return is_static_tensor(ctx.values.at(value).spot);
  };
  return std::ranges::all_of(makers.nodes, [&](ir::NodeId id) {
    return std::ranges::all_of(ctx.module.node(id).inputs, is_bound);
  });
}

/// Returns the rows of one block, which the nodes read instead of the whole value.
Location rows_of_block(BindContext& ctx, const RowsOf& rows, bool backwards, BoundBlocks& blocks) {
  Location block = ctx.values.at(rows.value);
  const Spot whole = block.spot;
  const tensor::Shape strides = ctx.builder.layout(whole).strides;
  tensor::Shape dims = ctx.values.type(rows.value).shape();
  dims[rows.axis] = blocks.steps;
  block.spot.slot = ctx.builder.new_slot();
  block.spot.offset = 0;
  block.spot.buffer = kNone;
  block.spot.layout = ctx.builder.add_layout(dims, strides);
  blocks.inputs.push_back(
      {block.spot.slot, whole, strides[rows.axis] * bytes_of(whole.dtype), backwards});
  return block;
}

/// Binds the nodes with the types and locations of one block.
Expected<void> bind_block(BindContext& ctx, const RowMakers& makers, BoundLoop& loop) {
  std::vector<Location> whole;
  for (const RowsOf& rows : makers.read) {
    whole.push_back(ctx.values.at(rows.value));
    ctx.values.set(rows.value, rows_of_block(ctx, rows, makers.backwards, loop.blocks));
  }
  std::vector<tensor::Type> types;
  for (const RowsOf& rows : makers.made) {
    tensor::Type& type = ctx.inference.types[rows.value.index];
    types.push_back(type);
    tensor::Shape dims = type.shape();
    dims[rows.axis] = loop.blocks.steps;
    type = tensor::Type::of(type.dtype, dims);
  }
  for (const ir::NodeId node : makers.nodes)
    SCANLOOM_CHECK_OK(bind_maker(ctx, node, loop, makers.port));
  for (std::size_t i = 0; i < types.size(); ++i)
    ctx.inference.types[makers.made[i].value.index] = types[i];
  for (std::size_t i = 0; i < whole.size(); ++i) ctx.values.set(makers.read[i].value, whole[i]);
  // The loop scans the value with all its rows.
  const ir::ValueId scanned = makers.made[0].value;
  Location rows = ctx.values.at(scanned);
  const tensor::Shape strides = ctx.builder.layout(rows.spot).strides;
  rows.spot.layout = ctx.builder.add_layout(ctx.values.type(scanned).shape(), strides);
  ctx.values.set(scanned, rows);
  if (loop.blocks.steps == loop.blocks.rows) return {};
  loop.notes.rows_made += fmt::format("; rows of {} are made in blocks of {} steps",
                                      ctx.module.describe(scanned), loop.blocks.steps);
  return {};
}

}  // namespace

void plan_blocks(BindContext& ctx) {
  ctx.uses_of_elements = uses_of_elements(ctx.module, ctx.inference);
  ctx.block_plans = find_blocks(ctx.module, ctx.inference, ctx.uses_of_elements);
  ctx.is_bound_with_loop.resize(ctx.module.node_count());
  for (const auto& [loop, plan] : ctx.block_plans)
    for (const std::vector<RowMakers>* const list : {&plan.ports, &plan.whole})
      for (const RowMakers& makers : *list)
        for (const ir::NodeId node : makers.nodes) ctx.is_bound_with_loop[node.index] = true;
}

BlockPlan take_block_plan(BindContext& ctx, ir::NodeId id, BoundLoop& loop) {
  const auto found = ctx.block_plans.find(id.index);
  if (found == ctx.block_plans.end()) return {};
  BlockPlan plan = std::move(found->second);
  ctx.block_plans.erase(found);
  for (const std::vector<RowMakers>* const list : {&plan.ports, &plan.whole})
    for (const RowMakers& makers : *list)
      for (const ir::NodeId maker : makers.nodes) ctx.is_bound_with_loop[maker.index] = false;
  const bool bound = std::ranges::all_of(
      plan.ports, [&](const RowMakers& makers) { return reads_are_bound(ctx, makers); });
  if (!bound) {
    std::ranges::move(plan.ports, std::back_inserter(plan.whole));
    std::ranges::sort(plan.whole, {}, &RowMakers::port);
    plan.ports.clear();
  }
  if (plan.ports.empty()) return plan;
  loop.blocks.rows = plan.rows;
  loop.blocks.steps = plan.steps;
  loop.blocks.ports.resize(ctx.module.node(id).loop->scanned.size());
  for (const RowMakers& makers : plan.ports) loop.blocks.ports[makers.port] = true;
  return plan;
}

Expected<BlockCode> bind_blocks(BindContext& ctx, const BlockPlan& plan, BoundLoop& loop) {
  for (const RowMakers& makers : plan.whole)
    for (const ir::NodeId maker : makers.nodes)
      SCANLOOM_CHECK_OK(bind_maker(ctx, maker, loop, makers.port));
  if (plan.ports.empty()) return BlockCode{};
  ctx.builder.begin_block_code();
  for (const RowMakers& makers : plan.ports) SCANLOOM_CHECK_OK(bind_block(ctx, makers, loop));
  BlockCode block = ctx.builder.end_block_code();
  loop.blocks.buffers = block.buffers;
  return block;
}

void append_blocks(BindContext& ctx, const BlockCode& block, BoundLoop& loop) {
  if (loop.blocks.steps == 0) return;
  loop.blocks.first = ctx.builder.next();
  ctx.builder.append(block);
}

}  // namespace scanloom::plan
