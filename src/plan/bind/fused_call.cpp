// Emits the call that computes a group of nodes (fusion.h).
#include "plan/bind/fused_call.h"

#include <algorithm>

#include "kernels/conv_epilogue.h"
#include "plan/bind/ask_kernel.h"
#include "plan/bind/context.h"
#include "plan/bind/fusion.h"
#include "plan/bind/group_program.h"
#include "plan/bind/walk.h"

namespace scanloom::plan {
namespace {

using ir::Node;
using ir::NodeId;
using ir::ValueId;

std::vector<Location> locations_of(BindContext& ctx, const std::vector<ValueId>& values) {
  std::vector<Location> locations;
  for (const ValueId value : values) locations.push_back(ctx.values.at(value));
  return locations;
}

/// Emits the group's call. Returns whether the kernel takes it.
bool emit_fused(BindContext& ctx, const FusedGroup& group, const GroupProgram& made) {
  const std::vector<Location> inputs = locations_of(ctx, made.inputs());
  if (!are_static(inputs)) return false;
  align(ctx.builder, inputs);
  std::vector<Spot> results;
  for (const ValueId value : made.outputs())
    results.push_back(
        {.layout = ctx.values.result_layout(value), .dtype = ctx.values.type(value).dtype});
  std::vector<tensor::Operand> out;
  for (const Spot& spot : results) out.push_back(operand_of(ctx.builder.layout(spot), spot.dtype));
  const bool reduces = group.first_reduced < group.dims.rank();
  const kernels::KernelId kernel = reduces ? kernels::KernelId::rows : kernels::KernelId::pointwise;
  const std::vector<Spot> spots = spots_of(inputs);
  const std::vector<tensor::Operand> in = operands_of(ctx.builder.binding(), spots);
  bool of_plan = true;
  const std::vector<const void*> constants = constants_of(ctx.builder.binding(), spots, of_plan);
  kernels::RowProgram program = made.program();
  program.dims = group.dims;
  program.first_reduced = group.first_reduced;
  kernels::PrepareCtx asked{in, out, constants, {}, &program.elements, nullptr};
  asked.rows = &program;
  kernels::Prepared prepared = kernels::kernel(kernel).prepare(asked);
  if (prepared.refusal) return false;
  emit_fused_call(ctx, group.nodes, kernel, std::move(prepared), inputs, made.outputs());
  return true;
}

/// Emits one call for a convolution and all other nodes of the group. Returns whether the kernel
/// takes it.
bool emit_convolution(BindContext& ctx, const FusedGroup& group) {
  const ConvolutionPart part(ctx, group);
  if (!part.is_whole || !are_static(part.inputs)) return false;
  Binding& binding = ctx.builder.binding();
  const std::vector<Spot> spots = spots_of(part.inputs);
  bool all_of_plan = true;
  std::vector<const void*> constants = constants_of(binding, spots, all_of_plan);
  const std::vector<tensor::Operand> out{
      operand_of(ctx.builder.layout({.layout = ctx.values.result_layout(part.result)}),
                 ctx.values.type(part.result).dtype)};
  const std::vector<tensor::Operand> in = operands_of(binding, spots);
  const kernels::PrepareCtx asked{in,
                                  out,
                                  constants,
                                  part.convolution.attrs,
                                  part.program ? &*part.program : nullptr,
                                  part.of_plan ? &ctx.plan->packs : nullptr};
  constexpr auto kKernel = kernels::KernelId::conv;
  kernels::Prepared prepared = ask_kernel(
      ctx.builder, kernels::kernel(kKernel), asked, part.inputs,
      [&] { std::ranges::copy(constants_of(binding, spots, all_of_plan), constants.begin()); });
  if (prepared.refusal) return false;
  emit_fused_call(ctx, group.nodes, kKernel, std::move(prepared), part.inputs, {part.result});
  return true;
}

Expected<void> bind_one_by_one(BindContext& ctx, const FusedGroup& group) {
  for (const NodeId id : group.nodes) SCANLOOM_CHECK_OK(bind_alone(ctx, id));
  return {};
}

Expected<void> bind_convolution(BindContext& ctx, const FusedGroup& group) {
  FusedGroup rest = group;
  rest.convolution = {};
  std::erase(rest.nodes, group.convolution);
  if (emit_convolution(ctx, group)) return {};
  SCANLOOM_CHECK_OK(bind_alone(ctx, group.convolution));
  return rest.nodes.size() > 1 ? bind_group(ctx, rest) : bind_one_by_one(ctx, rest);
}

}  // namespace

ConvolutionPart::ConvolutionPart(BindContext& ctx, const FusedGroup& group)
    : convolution(ctx.module.node(group.convolution)), result(convolution.outputs[0]) {
  std::vector<NodeId> rest = group.nodes;
  std::erase(rest, group.convolution);
  inputs = ctx.values.of_inputs(convolution);
  inputs.resize(kernels::kConvOperands);
  static_cast<void>(constants_of(ctx.builder.binding(), spots_of(inputs), of_plan));
  if (rest.empty()) return;
  const GroupProgram made(ctx, rest, result);
  is_whole = made.outputs().size() == 1 && made.has_all_readers_of(result);
  if (!is_whole) return;
  result = made.outputs()[0];
  program = made.program().elements;
  for (const ValueId value : std::span(made.inputs()).subspan(1))
    inputs.push_back(ctx.values.at(value));
}

bool are_static(std::span<const Location> inputs) {
  return std::ranges::all_of(inputs, [](const Location& input) {
    return !input.spot.present() || is_static_tensor(input.spot);
  });
}

void emit_fused_call(BindContext& ctx, std::span<const NodeId> nodes, kernels::KernelId kernel,
                     kernels::Prepared prepared, const std::vector<Location>& inputs,
                     const std::vector<ValueId>& values) {
  std::int64_t& scratch = ctx.builder.binding().scratch_bytes;
  scratch = std::max(scratch, prepared.scratch_bytes);
  const std::uint32_t packed = prepared.packed;
  std::vector<Location> outputs;
  for (const ValueId value : values) {
    outputs.push_back(ctx.values.result(value));
    ctx.values.set(value, outputs.back());
  }
  BoundCall call = call_of_node(ctx.module.node(nodes.back()), nodes.back());
  call.run = prepared.run != nullptr ? prepared.run : kernels::kernel(kernel).run;
  call.kernel = kernel;
  call.prepared = std::move(prepared.state);
  call.fused_before = {nodes.begin(), nodes.end() - 1};
  ctx.builder.emit_call(std::move(call), inputs, outputs, packed);
}

Expected<void> bind_group(BindContext& ctx, const FusedGroup& group) {
  if (group.convolution.valid()) return bind_convolution(ctx, group);
  const GroupProgram made(ctx, group.nodes);
  if (!made.outputs().empty() && emit_fused(ctx, group, made)) return {};
  return bind_one_by_one(ctx, group);
}

}  // namespace scanloom::plan
