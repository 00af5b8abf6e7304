#include "frontends/onnx/function_call.h"

#include <algorithm>

namespace scanloom::onnx {
namespace {

/// Operands, and bytes of attributes, that count as one node more.
constexpr std::size_t kOperandsOfANode = 8;
constexpr std::size_t kBytesOfANode = 256;

class OpenCall : public OpenNode {
 public:
  Expected<void> finish(NodeCtx& ctx, std::vector<BodyResult> results) override {
    for (std::size_t i = 0; i < results[0].outputs.size(); ++i)
      ctx.set_output(static_cast<int>(i), std::move(results[0].outputs[i]));
    return {};
  }
};

const AttributeProto* default_of(const FunctionProto& function, std::string_view name) {
  for (const AttributeProto& attribute : function.defaults)
    if (attribute.name == name) return &attribute;
  return nullptr;
}

/// What the attributes of the function stand for in this call.
Expected<std::shared_ptr<Root>> root_of_call(NodeCtx& ctx, const FunctionProto& function) {
  auto root = std::make_shared<Root>();
  root->opsets = function.opsets;
  // What a function does not import for itself it takes from the model.
  root->opsets.insert(root->opsets.end(), ctx.reading().model.opsets.begin(),
                      ctx.reading().model.opsets.end());
  std::vector<std::string_view> names = function.attributes;
  for (const AttributeProto& attribute : function.defaults) names.push_back(attribute.name);
  for (const std::string_view name : names) {
    SCANLOOM_TRY(const AttributeProto* const given, ctx.any_attribute(name));
    root->attributes.emplace_back(name, given != nullptr ? given : default_of(function, name));
  }
  return root;
}

/// What a node may copy of an attribute. Tensors are read once, graphs count by themselves.
std::size_t copied_bytes(const AttributeProto& attribute) {
  std::size_t bytes = attribute.text.size() + attribute.integers.size() * sizeof(std::int64_t) +
                      attribute.reals.size() * sizeof(double);
  for (const std::string_view text : attribute.texts) bytes += sizeof(std::string) + text.size();
  return bytes;
}

/// The same of all nodes in a graph of a function, whose attributes may stand for the function's.
std::size_t copied_bytes(const GraphProto& graph, const Root& root) {
  std::size_t largest = 0;
  for (const auto& [name, given] : root.attributes)
    if (given != nullptr) largest = std::max(largest, copied_bytes(*given));
  std::size_t bytes = 0;
  for (const NodeProto& node : graph.nodes)
    for (const AttributeProto& attribute : node.attributes)
      bytes += attribute.reference.empty() ? copied_bytes(attribute) : largest;
  return bytes;
}

}  // namespace

std::string_view normal_domain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
}

std::size_t size_of_call(const GraphProto& graph, const BodyRequest& request) {
  std::size_t size = request.bindings.size() + graph.nodes.size() + graph.initialisers.size() +
                     graph.sparse_initialisers.size() + graph.value_infos.size() +
                     graph.outputs.size();
  // The order of nodes depends on all that they read: nodes of few operands count as one.
  for (const NodeProto& node : graph.nodes)
    size += (node.inputs.size() + node.outputs.size()) / kOperandsOfANode;
  return size + copied_bytes(graph, *request.root) / kBytesOfANode;
}

FunctionTable::FunctionTable(const ModelProto& model, Diagnostics& diagnostics) {
  for (const FunctionProto& function : model.functions) {
    const Key key = {normal_domain(function.domain), function.name, function.overload};
    if (functions_.try_emplace(key, &function).second) continue;
    diagnostics.error(invalid_model(
        "onnx: there are two functions '{}' of the domain '{}' with the overload '{}'",
        function.name, function.domain, function.overload));
  }
}

const FunctionProto* FunctionTable::find(const NodeProto& node) const {
  const auto found = functions_.find({normal_domain(node.domain), node.op_type, node.overload});
  return found == functions_.end() ? nullptr : found->second;
}

Expected<void> convert_call(NodeCtx& ctx, const FunctionProto& function) {
  const GraphFacts& facts = ctx.reading().facts[function.body];
  if (static_cast<std::size_t>(ctx.input_count()) > facts.inputs.size())
    return invalid_model("it has {} inputs, the function '{}' has {}", ctx.input_count(),
                         function.name, facts.inputs.size());
  if (static_cast<std::size_t>(ctx.output_count()) > facts.outputs.size())
    return invalid_model("it has {} outputs, the function '{}' has {}", ctx.output_count(),
                         function.name, facts.outputs.size());
  BodyRequest request;
  request.graph = function.body;
  request.role = fmt::format("function '{}'", shown_name(function.name));
  request.builder = std::make_shared<ir::Builder>(ctx.module(), ctx.builder().region());
  SCANLOOM_TRY(request.root, root_of_call(ctx, function));
  for (std::size_t i = 0; i < facts.inputs.size(); ++i) {
    if (!facts.inputs[i].valid()) continue;
    Binding binding;  // neither value nor constant: an input that the call leaves out
    if (ctx.has(static_cast<int>(i)))
      if (const Binding* const given = ctx.site().scope.find(ctx.site().facts.inputs[i]))
        binding = *given;
    request.bindings.emplace_back(facts.inputs[i], std::move(binding));
  }
  auto open = std::make_unique<OpenCall>();
  open->bodies.push_back(std::move(request));
  ctx.open(std::move(open));
  return {};
}

}  // namespace scanloom::onnx
