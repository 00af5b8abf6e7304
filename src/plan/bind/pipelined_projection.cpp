#include "plan/bind/pipelined_projection.h"

#include <algorithm>
#include <optional>
#include <span>

#include "ops/ops.h"
#include "plan/bind/loop_ports.h"
#include "plan/bind/parallel_steps.h"

namespace scanloom::plan {
namespace {

/// A product in the form in which kernels are asked about it. Operands refer to the layouts.
struct KernelQuestion {
  std::vector<Layout> layouts;
  std::vector<tensor::Operand> inputs, outputs;
  std::vector<const void*> constants;
  std::span<const tensor::Attr> attrs;
  kernels::PackCache* packs = nullptr;

  [[nodiscard]] kernels::PrepareCtx ctx() const {
    return {.inputs = inputs,
            .outputs = outputs,
            .constants = constants,
            .attrs = attrs,
            .packs = packs};
  }
};

KernelQuestion question_of(const BindContext& ctx, ir::NodeId node,
                           const std::vector<LaidOut>& inputs, const LaidOut& output) {
  KernelQuestion asked{.attrs = ctx.module.node(node).attrs};
  asked.layouts.reserve(inputs.size() + 1);
  const auto operand = [&](const LaidOut& value) {
    return operand_of(asked.layouts.emplace_back(value.layout), value.dtype);
  };
  bool of_plan = true;
  for (const LaidOut& input : inputs) {
    asked.inputs.push_back(operand(input));
    asked.constants.push_back(input.constant);
    of_plan &= input.constant == nullptr || input.of_plan;
  }
  asked.outputs.push_back(operand(output));
  if (of_plan) asked.packs = &ctx.plan->packs;
  return asked;
}

/// Returns the nodes that every step executes: those of the body, and those of the regions of
/// branches that are known to be taken, in the order in which they are bound.
std::vector<ir::NodeId> nodes_of_step(const BindContext& ctx, std::span<const ir::NodeId> body) {
  std::vector<ir::NodeId> nodes;
  std::vector<std::span<const ir::NodeId>> rest{body};
  while (!rest.empty()) {
    if (rest.back().empty()) {
      rest.pop_back();
      continue;
    }
    const ir::NodeId id = rest.back().front();
    rest.back() = rest.back().subspan(1);
    const ir::Node& node = ctx.module.node(id);
    if (ctx.inference.makes_constants(node)) continue;
    nodes.push_back(id);
    if (const int taken = ctx.inference.taken_branch[id.index];
        node.op == &ir::branch_op && taken >= 0)
      rest.emplace_back(ctx.module.region(node.regions[static_cast<std::size_t>(taken)]).nodes);
  }
  return nodes;
}

/// Returns the rows that a block's product reads, if other nodes computed them for all steps.
const BlockInput* input_of_block(const BoundLoop& loop, const std::vector<Location>& operands) {
  for (const BlockInput& input : loop.blocks.inputs)
    for (const Location& operand : operands)
      if (operand.spot.slot == input.slot && operand.spot.offset == 0) return &input;
  return nullptr;
}

bool in_blocks(const BoundLoop& loop, std::size_t port) {
  return !loop.blocks.ports.empty() && loop.blocks.ports[port];
}

}  // namespace

ProjectionPipeline::ProjectionPipeline(BindContext& ctx, const BoundLoop& loop,
                                       const std::vector<ir::NodeId>& nodes)
    : ctx_(ctx), loop_(loop.node) {
  const LayoutForecast forecast(ctx, loop);
  for (const ir::NodeId id : nodes_of_step(ctx, nodes)) {
    const ir::Node& node = ctx.module.node(id);
    if (node.op != &ops::contract_op || !ctx.values.is_static(node.outputs[0])) continue;
    std::vector<LaidOut> inputs;
    for (const ir::ValueId input : node.inputs)
      if (std::optional<LaidOut> found = forecast.of(input)) inputs.push_back(*std::move(found));
    if (inputs.size() == node.inputs.size())
      products_.push_back({id, std::move(inputs), contiguous_result(ctx, node.outputs[0])});
  }
}

/// Whether the value is made before all loops, for one reader.
bool ProjectionPipeline::is_for_loop_alone(ir::ValueId value) const {
  const ir::NodeId producer = ctx_.module.value(value).producer;
  return ctx_.module.node(producer).parent == ctx_.module.top() &&
         ctx_.uses_of_elements[value.index] == 1;
}

/// Returns the data of a constant with one element per column of the rows; otherwise null.
const float* ProjectionPipeline::bias_of(const Projection& projection, ir::ValueId rows) {
  if (!ctx_.values.is_static(projection.rows) ||
      ctx_.values.type(projection.rows).shape() != ctx_.values.type(rows).shape())
    return nullptr;
  const ir::ValueId bias = projection.bias;
  if (!ctx_.values.is_static(bias) || ctx_.values.is_object(bias)) return nullptr;
  const Location at = ctx_.values.at(bias);
  align(ctx_.builder, std::span(&at, 1));
  const Spot spot = at.spot;
  if (!is_static_tensor(spot) || spot.dtype != DType::f32) return nullptr;
  const LaidOut laid_out = laid_out_at(ctx_.builder.binding(), spot);
  const tensor::Shape dims = laid_out.layout.dims, all = ctx_.values.type(rows).shape();
  const bool fits = laid_out.constant != nullptr && laid_out.layout.contiguous && dims.rank() > 0 &&
                    dims.elements() == all[all.rank() - 1] &&
                    dims[dims.rank() - 1] == dims.elements();
  return fits ? reinterpret_cast<const float*>(laid_out.constant) : nullptr;
}

void ProjectionPipeline::consider(ir::NodeId node, const BoundLoop& loop, std::size_t port) {
  if (calls_ || products_.empty()) return;
  const ir::Node& of_loop = ctx_.module.node(loop_);
  const ir::ValueId rows = of_loop.inputs[of_loop.loop->first_scanned_input() + port];
  const auto projection = projection_of(ctx_.module, ctx_.inference, rows);
  if (projection && projection->product == node && of_loop.loop->scanned[port].part == 1 &&
      is_for_loop_alone(rows) && is_for_loop_alone(projection->rows))
    decide(*projection, loop, port);
}

void ProjectionPipeline::decide(const Projection& projection, const BoundLoop& loop,
                                std::size_t port) {
  const ir::Node& node = ctx_.module.node(loop_);
  const ir::ValueId rows = node.inputs[node.loop->first_scanned_input() + port];
  const ir::ScannedPort& slices = node.loop->scanned[port];
  const float* const bias = projection.sum.valid() ? bias_of(projection, rows) : nullptr;
  if (projection.sum.valid() && bias == nullptr) return;
  const ir::Node& product = ctx_.module.node(projection.product);
  const std::vector<Location> operands = ctx_.values.of_inputs(product);
  std::vector<LaidOut> inputs;
  for (const Location& operand : operands) {
    if (!is_static_tensor(operand.spot)) return;
    inputs.push_back(laid_out_at(ctx_.builder.binding(), operand.spot));
  }
  std::vector<KernelQuestion> asked;
  for (const StepProduct& step : products_)
    asked.push_back(question_of(ctx_, step.node, step.inputs, step.output));
  std::vector<kernels::PrepareCtx> of_steps;
  for (const KernelQuestion& question : asked) of_steps.push_back(question.ctx());
  const LaidOut result = contiguous_result(ctx_, projection.rows);
  const KernelQuestion of_all = question_of(ctx_, projection.product, inputs, result);
  const bool blocked = in_blocks(loop, port);
  const std::int64_t count = result.layout.dims[static_cast<int>(slices.axis)];
  const BlockInput* const input = input_of_block(loop, operands);
  const SliceWalk walk = walk_over(result.layout, slices, loop.blocks, blocked, result.dtype);
  calls_ = kernels::pipelined_projection(
      of_all.ctx(), bias,
      {walk.first_bytes, walk.step_bytes, count, input != nullptr ? loop.blocks.rows : count},
      of_steps);
  if (!calls_) return;
  projection_ = projection;
  rows_ = rows;
  argument_ =
      ctx_.module.region(node.regions[0]).args[node.loop->captured + node.loop->carried + port];
  x_ = operands[static_cast<std::size_t>(calls_->a_input)];
  whole_ = input != nullptr ? Location{input->from, {}} : x_;
}

const kernels::PipelinedCall* ProjectionPipeline::step_call(ir::NodeId node) const {
  for (std::size_t i = 0; i < products_.size(); ++i)
    if (products_[i].node == node)
      return calls_->steps[i].run != nullptr ? &calls_->steps[i] : nullptr;
  return nullptr;
}

bool ProjectionPipeline::has(ir::NodeId node) const {
  return calls_ &&
         (node == projection_.product || node == projection_.sum || step_call(node) != nullptr);
}

Expected<void> ProjectionPipeline::bind(ir::NodeId node) {
  if (step_call(node) != nullptr) return bind_step(node);
  // The bias is added where the rows are made.
  if (node == projection_.sum || !projection_.sum.valid()) bind_first_rows(node);
  return {};
}

void ProjectionPipeline::bind_first_rows(ir::NodeId node) {
  std::vector<Location> inputs = ctx_.values.of_inputs(ctx_.module.node(projection_.product));
  inputs.push_back(whole_);
  const Location rows = ctx_.values.result(rows_);
  ctx_.values.set(rows_, rows);
  BoundCall call = call_of_node(ctx_.module.node(node), node);
  call.kernel = kernels::KernelId::contract;
  call.run = calls_->first_rows.run;
  call.prepared = calls_->first_rows.prepared;
  call.pipelined.inputs = 1;
  ctx_.builder.emit_call(std::move(call), inputs, {rows});
}

Expected<void> ProjectionPipeline::bind_step(ir::NodeId id) {
  const ir::Node& node = ctx_.module.node(id);
  const kernels::PipelinedCall& made = *step_call(id);
  const StepProduct& step = *std::ranges::find(products_, id, &StepProduct::node);
  std::vector<Location> inputs = ctx_.values.of_inputs(node);
  // A plain call instead would leave out this step's share of the rows, whose calls are bound.
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!step.inputs[i].agrees_with(ctx_.builder.binding(), inputs[i].spot))
      return fail(Code::internal, "{}: operand {} is not laid out as forecast",
                  ctx_.module.describe(id), i);
  const Location result = ctx_.values.result(node.outputs[0]);
  ctx_.values.set(node.outputs[0], result);
  inputs.insert(inputs.end(), {x_, ctx_.values.at(argument_), whole_});
  BoundCall call = call_of_node(node, id);
  call.kernel = kernels::KernelId::contract;
  call.run = made.run;
  call.prepared = made.prepared;
  call.pipelined = {made.products, made.bytes, ctx_.module.value(rows_).producer, 3, 1};
  ctx_.builder.emit_call(std::move(call), inputs, {result, ctx_.values.at(rows_)});
  return {};
}

void ProjectionPipeline::note(BoundLoop& loop) const {
  if (!calls_) return;
  // The note of the blocks is of this port.
  const bool noted =
      loop.blocks.steps < loop.blocks.rows && std::ranges::count(loop.blocks.ports, true) == 1;
  loop.notes.rows_made +=
      noted ? ", pipelined with the steps"
            : fmt::format("; rows of {} are pipelined with the steps", ctx_.module.describe(rows_));
}

std::shared_ptr<ProjectionPipeline> pipeline_of(BindContext& ctx, const BoundLoop& loop,
                                                const std::vector<ir::NodeId>& nodes) {
  if (parallel_steps(ctx.module, loop.node, ctx.inference, ctx.values.uses())) return nullptr;
  return std::make_shared<ProjectionPipeline>(ctx, loop, nodes);
}

}  // namespace scanloom::plan
