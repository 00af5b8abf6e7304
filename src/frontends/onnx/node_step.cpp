#include "frontends/onnx/node_step.h"

namespace scanloom::onnx {
namespace {

std::string full_name(std::string_view domain, std::string_view op_type) {
  if (domain.empty()) return shown_name(op_type);
  return fmt::format("{}.{}", shown_name(domain), shown_name(op_type));
}

/// Returns nullopt if the domain is not imported. As in ONNX Runtime, whose tools leave it out,
/// version 1 of com.microsoft always is.
std::optional<std::int64_t> imported_version(const Root& root, std::string_view domain) {
  for (const OpsetProto& opset : root.opsets)
    if (normal_domain(opset.domain) == domain) return opset.version;
  if (domain == "com.microsoft") return 1;
  return std::nullopt;
}

std::string describe_location(const NodeProto& node, std::uint32_t index, std::string_view kind) {
  if (!node.name.empty()) return fmt::format("node '{}' ({})", shown_name(node.name), kind);
  for (const std::string_view output : node.outputs)
    if (!output.empty())
      return fmt::format("node {} ({}) making '{}'", index, kind, shown_name(output));
  return fmt::format("node {} ({})", index, kind);
}

Expected<void> check_version(const ImportState& state, const NodeStep& step, const Root& root) {
  const std::string_view domain = normal_domain(step.node.domain);
  if (!imported_version(root, domain))
    return invalid_model("the model imports no version of the operator set '{}'",
                         domain.empty() ? "ai.onnx" : domain);
  if (state.reading.options.lenient) return {};
  const int first = step.converter->versions.front();
  if (step.version < first)
    return invalid_model("the operator exists since version {}, but the model imports version {}",
                         first, step.version)
        .note("the option lenient reads it as that version");
  return {};
}

Expected<void> check_operand_counts(const NodeStep& step) {
  const Converter& converter = *step.converter;
  const auto inputs = static_cast<int>(step.node.inputs.size());
  const auto outputs = static_cast<int>(step.node.outputs.size());
  if (inputs < converter.min_inputs)
    return invalid_model("it has {} inputs, but at least {} are needed", inputs,
                         converter.min_inputs);
  if (converter.max_inputs >= 0 && inputs > converter.max_inputs)
    return invalid_model("it has {} inputs, but at most {} are allowed", inputs,
                         converter.max_inputs);
  if (converter.max_outputs >= 0 && outputs > converter.max_outputs)
    return invalid_model("it has {} outputs, but at most {} are allowed", outputs,
                         converter.max_outputs);
  return {};
}

}  // namespace

NodeStep describe_step(const ImportState& state, const GraphFrame& frame, std::uint32_t index) {
  const NodeProto& node = state.reading.model.graphs[frame.graph].nodes[index];
  NodeStep step{node,    state.reading.facts[frame.graph].nodes[index],
                index,   state.functions.find(node),
                nullptr, 0,
                {}};
  const std::string_view domain = normal_domain(node.domain);
  step.version = imported_version(*frame.root, domain).value_or(0);
  if (step.function == nullptr) step.converter = find_converter(domain, node.op_type);
  std::string kind = full_name(domain, node.op_type);
  if (step.converter != nullptr) kind += fmt::format("-{}", step.converter->since(step.version));
  step.location = describe_location(node, index, kind);
  return step;
}

NodeSite site_of(const ImportState& state, GraphFrame& frame, const NodeStep& step) {
  const ir::LocationId location = state.reading.module.add_location({{step.location}});
  frame.builder->set_location(location);
  const auto captures = frame.captures.find(step.index);
  return {.node = step.node,
          .facts = step.facts,
          .captures = captures == frame.captures.end() ? step.facts.captures : captures->second,
          .scope = frame.scope,
          .root = frame.root,
          .builder = *frame.builder,
          .location = location,
          .version = step.version};
}

Expected<bool> inputs_are_ready(GraphFrame& frame, const NodeStep& step) {
  bool ready = true;
  for (std::size_t i = 0; i < step.facts.inputs.size(); ++i) {
    const NameId name = step.facts.inputs[i];
    if (!name.valid()) continue;
    const Binding* const binding = frame.scope.find(name);
    if (binding == nullptr)
      return invalid_model("input {} '{}' is not produced by any node", i, step.node.inputs[i]);
    ready = ready && !binding->poisoned;
  }
  return ready;
}

Expected<void> check_signature(const ImportState& state, const GraphFrame& frame,
                               const NodeStep& step) {
  SCANLOOM_CHECK_OK(check_version(state, step, *frame.root));
  return check_operand_counts(step);
}

bool check_attributes(const ImportState& state, const GraphFrame& frame, const NodeStep& step,
                      const NodeCtx& ctx) {
  bool known = true;
  for (const std::string_view name : ctx.unread_attributes()) {
    if (name.starts_with("__")) continue;  // reserved for annotations by tools
    Error error = invalid_model("attribute '{}' is unknown", shown_name(name));
    if (state.reading.options.lenient) {
      state.reading.diagnostics.warning(
          fmt::format("onnx: {}: {} and ignored", step.location, error.text()));
      continue;
    }
    error.note("the option lenient ignores unknown attributes");
    fail_at(state, frame, step.location, std::move(error));
    known = false;
  }
  return known;
}

}  // namespace scanloom::onnx
