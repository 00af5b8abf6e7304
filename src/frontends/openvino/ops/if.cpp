// Converts If to a branch. Both regions receive every outer value that either port map takes.
#include <algorithm>
#include <map>

#include "frontends/openvino/body.h"
#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/port_index.h"
#include "frontends/openvino/wide_sizes.h"
#include "ir/infer.h"

namespace scanloom::openvino {

using ir::ValueId;

namespace {

/// One region: its body, and its Results by output of the layer.
struct BranchRegion {
  std::unique_ptr<Body> body;
  std::vector<const Layer*> results;  // by output of the layer
  VariableScope variables;
};

const BodyPart* branch_part(const Layer& layer, std::string_view role) {
  for (const BodyPart& part : layer.bodies)
    if (part.role == role) return &part;
  return nullptr;
}

/// Returns the inputs of the layer that either region takes, in their order, with their operand of
/// the branch. Constants are not operands: they are passed as they are.
Expected<std::map<std::size_t, std::size_t>> captured_inputs(LayerCtx& ctx,
                                                             const LayerPorts& ports) {
  std::map<std::size_t, std::size_t> captured;
  for (const BodyPart& part : ctx.layer().bodies)
    for (std::size_t i = 0; i < part.inputs.size(); ++i) {
      const std::string entry = fmt::format("{} input {}", part.role, i);
      SCANLOOM_TRY(const std::size_t position, ports.input(entry, part.inputs[i].external_port));
      if (ctx.is_left_out(static_cast<int>(position))) continue;
      if (!ctx.has(static_cast<int>(position)))
        return invalid_model("{}: no edge leads to input port {}", entry,
                             part.inputs[i].external_port);
      if (ctx.constant(static_cast<int>(position)) == nullptr) captured.emplace(position, 0);
    }
  std::size_t next = 0;
  for (auto& [position, operand] : captured) operand = next++;
  return captured;
}

/// Reads the region, with the values of variables as additional arguments. False if an error was
/// reported.
bool run_region(LayerCtx& ctx, BranchRegion& region,
                const std::vector<VariableUses::Use>& variables) {
  Reading& reading = ctx.reading();
  for (const VariableUses::Use& use : variables) {
    const tensor::Type type = ctx.type(reading.scopes.back().entered.at(use.id));
    region.variables.entered[use.id] =
        ctx.module().add_argument(region.body->builder().region(), type, use.id);
  }
  reading.scopes.push_back(std::move(region.variables));
  const bool done = region.body->run();
  region.variables = std::move(reading.scopes.back());
  reading.scopes.pop_back();
  return done;
}

/// Assigns in the enclosing graph what the region that runs has assigned, or left unchanged.
Expected<void> leave_variables(LayerCtx& ctx, ir::NodeId branch, BranchRegion (&regions)[2],
                               const std::vector<VariableUses::Use>& variables) {
  ir::Module& module = ctx.module();
  for (const VariableUses::Use& use : variables) {
    if (!use.is_assigned) continue;
    ValueId values[2];
    for (int which = 0; which < 2; ++which) {
      values[which] = left_value(regions[which].variables, use.id);
      module.region(regions[which].body->builder().region()).yields.push_back(values[which]);
    }
    const ValueId value =
        module.add_output(branch, ir::join(ctx.type(values[0]), ctx.type(values[1]), module.dims));
    SCANLOOM_CHECK_OK(assign_variable(ctx.reading(), use.id, value));
  }
  return {};
}

Expected<void> enter_branch_region(LayerCtx& ctx, BranchRegion& region, const LayerPorts& ports,
                                   const std::map<std::size_t, std::size_t>& captured) {
  Body& body = *region.body;
  std::vector<ValueId> arguments;
  for (const auto& [position, operand] : captured) {
    SCANLOOM_TRY(const ValueId outer, ctx.in(static_cast<int>(position)));
    SCANLOOM_TRY(const ValueId inner, body.add_captured(ctx.builder(), outer));
    arguments.push_back(inner);
  }
  for (std::size_t i = 0; i < body.part().inputs.size(); ++i) {
    const PortEntry& port = body.part().inputs[i];
    const std::string entry = fmt::format("{} input {}", body.part().role, i);
    SCANLOOM_TRY(const Layer* const parameter, body.parameter(entry, port.internal_layer));
    SCANLOOM_TRY(const std::size_t position, ports.input(entry, port.external_port));
    if (const auto found = captured.find(position); found != captured.end())
      SCANLOOM_CHECK_OK(body.bind(*parameter, Binding::of(arguments[found->second])));
    else if (ctx.is_left_out(static_cast<int>(position)))
      body.leave_out(*parameter);
    else
      SCANLOOM_CHECK_OK(body.bind(*parameter, Binding::of(std::make_shared<const tensor::Tensor>(
                                                  *ctx.constant(static_cast<int>(position))))));
  }
  region.results.assign(ctx.layer().outputs.size(), nullptr);
  const bool are_outputs = ports.are_outputs(body.part());
  for (std::size_t i = 0; i < body.part().outputs.size(); ++i) {
    const PortEntry& port = body.part().outputs[i];
    const std::string entry = fmt::format("{} output {}", body.part().role, i);
    SCANLOOM_TRY(const std::size_t position,
                 ports.output_of_part(are_outputs, entry, port.external_port));
    SCANLOOM_TRY(region.results[position], body.result_layer(entry, port.internal_layer));
  }
  return {};
}

}  // namespace

Expected<void> convert_if(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId condition, ctx.in(0));
  if (ctx.type(condition).dtype != DType::boolean)
    return invalid_model("input 0, the condition, is {}, but a boolean is needed",
                         describe_type(ctx, condition));
  const BodyPart* const parts[] = {branch_part(ctx.layer(), "then_body"),
                                   branch_part(ctx.layer(), "else_body")};
  const LayerPorts ports(ctx.layer());
  SCANLOOM_TRY(const auto captured, captured_inputs(ctx, ports));
  std::vector<ValueId> operands = {condition};
  for (const auto& [position, operand] : captured) {
    SCANLOOM_TRY(const ValueId outer, ctx.in(static_cast<int>(position)));
    operands.push_back(widest(ctx.builder(), outer));
  }
  const auto variables = ctx.reading().variable_uses.of(ctx.layer());
  for (const VariableUses::Use& use : variables) {
    SCANLOOM_TRY(const ValueId value, entered_value(ctx.reading(), use.id));
    operands.push_back(value);
  }
  ir::Module& module = ctx.module();
  const ir::NodeId branch = module.add_node(ctx.builder().region(), ir::branch_op,
                                            std::move(operands), {}, {}, ctx.site().location);
  BranchRegion regions[2];
  for (int i = 0; i < 2; ++i) {
    regions[i].body = std::make_unique<Body>(ctx, *parts[i], branch);
    regions[i].body->enter();
    if (Expected<void> entered = enter_branch_region(ctx, regions[i], ports, captured); !entered) {
      regions[i].body->run_unbound();
      return entered;
    }
    if (!run_region(ctx, regions[i], variables)) return ctx.poison_outputs(), Expected<void>();
  }
  for (std::size_t i = 0; i < ctx.layer().outputs.size(); ++i) {
    ValueId values[2];
    for (int which = 0; which < 2; ++which) {
      SCANLOOM_TRY(values[which], regions[which].body->result_value(*regions[which].results[i]));
      module.region(regions[which].body->builder().region()).yields.push_back(values[which]);
    }
    if (ctx.type(values[0]).dtype != ctx.type(values[1]).dtype)
      return invalid_model("output {} is {} in then_body and {} in else_body", i,
                           describe_type(ctx, values[0]), describe_type(ctx, values[1]));
    ctx.set_output(static_cast<int>(i),
                   Binding::of(module.add_output(
                       branch, ir::join(ctx.type(values[0]), ctx.type(values[1]), module.dims))));
  }
  return leave_variables(ctx, branch, regions, variables);
}

}  // namespace scanloom::openvino
