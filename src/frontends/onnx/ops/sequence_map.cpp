// SequenceMap: a loop over the items of its sequences, which must have equal lengths. Results are
// carried sequences that grow by one item per step; other inputs are the same in every step. Such
// loops may run steps in parallel: plan/bind/parallel_steps.h.
#include <algorithm>

#include "frontends/onnx/body.h"
#include "frontends/onnx/ops/converters.h"
#include "frontends/onnx/ops/scan_parts.h"
#include "frontends/onnx/types.h"
#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;
using tensor::Tensor;
using tensor::Type;

namespace {

bool is_sequence(const Type& type) {
  return !type.is_tensor() && type.wraps.front() == tensor::Wrap::sequence;
}

class OpenSequenceMap : public OpenNode {
 public:
  OpenSequenceMap(ir::NodeId loop, ValueId step) : loop_(loop), step_(step) {}

  Expected<void> finish(NodeCtx& ctx, std::vector<BodyResult> results) override;

 private:
  Expected<ValueId> add_result(NodeCtx& ctx, BodyResult& body, std::size_t i);

  ir::NodeId loop_;
  ValueId step_;
};

/// Adds a carried value: the items of output i made so far. Returns the value the body yields for
/// it.
Expected<ValueId> OpenSequenceMap::add_result(NodeCtx& ctx, BodyResult& body, std::size_t i) {
  ir::Module& module = ctx.module();
  const ValueId item = body.value(i);
  const Type type = ctx.type(item);
  if (!type.is_tensor())
    return invalid_model("body output {} is {}, but a tensor is needed", i,
                         describe_elements(type));
  SCANLOOM_TRY(const ValueId empty, ctx.op(ops::sequence_empty_op, {}, {{"dtype", type.dtype}}));
  const Type sequence = ctx.type(empty);
  module.node(loop_).inputs.push_back(empty);
  ++module.node(loop_).loop->carried;
  const ValueId before = module.add_argument(body.builder->region(), sequence);
  ctx.set_output(static_cast<int>(i), module.add_output(loop_, sequence));
  return body.builder->op(ops::sequence_insert_op, {before, item});
}

Expected<void> OpenSequenceMap::finish(NodeCtx& ctx, std::vector<BodyResult> results) {
  ir::Module& module = ctx.module();
  BodyResult& body = results[0];
  const ValueId one = body.builder->constant(Tensor::scalar<std::int64_t>(1));
  SCANLOOM_TRY(const ValueId next, body.builder->op(ops::add_op, {step_, one}));
  std::vector<ValueId> yields = {next};
  module.add_output(loop_, ctx.type(step_));
  for (std::size_t i = 0; i < body.outputs.size(); ++i) {
    SCANLOOM_TRY(const ValueId grown, add_result(ctx, body, i));
    yields.push_back(grown);
  }
  module.region(body.builder->region()).yields = std::move(yields);
  // The empty sequences were created after the loop that reads them, so the loop is moved after
  // them.
  std::vector<ir::NodeId>& nodes = module.region(ctx.builder().region()).nodes;
  std::rotate(std::ranges::find(nodes, loop_), std::ranges::find(nodes, loop_) + 1, nodes.end());
  return {};
}

/// Returns the common length of all sequences.
Expected<ValueId> common_length(NodeCtx& ctx, const std::vector<ValueId>& inputs) {
  SCANLOOM_TRY(ValueId length, ctx.op(ops::sequence_length_op, {inputs[0]}));
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    if (!is_sequence(ctx.type(inputs[i]))) continue;
    SCANLOOM_TRY(const ValueId other, ctx.op(ops::sequence_length_op, {inputs[i]}));
    const std::string text = "input 0 has {} items, " +
                             without_braces(ctx.describe_input(static_cast<int>(i))) + " has {}";
    SCANLOOM_TRY(length, ctx.op(ops::check_equal_op, {length, other}, {{"text", text}}));
  }
  return length;
}

/// Binds formal i of the body to an item if the input is a sequence, otherwise to the input itself.
Expected<void> bind_formal(NodeCtx& ctx, const Body& body, BodyRequest& request, std::size_t i,
                           ValueId argument, ValueId step) {
  Type type = ctx.type(argument);
  if (is_sequence(type)) type.wraps.erase(type.wraps.begin());
  SCANLOOM_CHECK_OK(body.formal_type(ctx, i, type));
  ValueId formal = argument;
  if (is_sequence(ctx.type(argument)) && body.reads_input(i)) {
    SCANLOOM_TRY(formal, request.builder->op(ops::sequence_at_op, {argument, step}));
  }
  request.bindings.emplace_back(body.input_name(i), Binding::of(formal));
  return {};
}

}  // namespace

Expected<void> convert_sequence_map(NodeCtx& ctx) {
  SCANLOOM_TRY(const Body body, Body::of(ctx, "body"));
  SCANLOOM_CHECK_OK(
      body.check_counts(ctx, static_cast<std::size_t>(ctx.input_count()), "the inputs of the node",
                        static_cast<std::size_t>(ctx.output_count()), "the outputs of the node"));
  std::vector<ValueId> inputs;
  for (int i = 0; i < ctx.input_count(); ++i) {
    SCANLOOM_TRY(const ValueId input, ctx.in(i));
    inputs.push_back(input);
  }
  if (!is_sequence(ctx.type(inputs[0])))
    return invalid_model("{} is {}, but a sequence is needed", ctx.describe_input(0),
                         describe_elements(ctx.type(inputs[0])));
  const Captures captures(ctx);
  SCANLOOM_TRY(const ValueId length, common_length(ctx, inputs));
  std::vector<ValueId> operands = {length};
  operands.insert(operands.end(), captures.operands().begin(), captures.operands().end());
  operands.insert(operands.end(), inputs.begin(), inputs.end());
  operands.push_back(ctx.integer_value(0));
  ir::LoopPorts ports;
  ports.has_trip_count = true;
  ports.over_items = true;
  ports.captured = static_cast<std::uint32_t>(captures.operands().size() + inputs.size());
  ports.carried = 1;
  const ir::NodeId loop = ctx.module().add_node(ctx.builder().region(), ir::loop_op,
                                                std::move(operands), {}, {}, ctx.site().location);
  ctx.module().node(loop).loop = ports;
  BodyRequest request = request_body(ctx, body, loop);
  captures.enter(ctx, body, request);
  const ir::RegionId region = request.builder->region();
  std::vector<ValueId> arguments;
  for (const ValueId input : inputs)
    arguments.push_back(ctx.module().add_argument(region, ctx.type(input)));
  const ValueId step = ctx.module().add_argument(region, Type::scalar(DType::i64));
  request.builder->set_location(ctx.site().location);
  for (std::size_t i = 0; i < arguments.size(); ++i)
    SCANLOOM_CHECK_OK(bind_formal(ctx, body, request, i, arguments[i], step));
  auto open = std::make_unique<OpenSequenceMap>(loop, step);
  open->bodies.push_back(std::move(request));
  ctx.open(std::move(open));
  return {};
}

}  // namespace scanloom::onnx
