#include "frontends/onnx/function_call.h"

namespace scanloom::onnx {
namespace {

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

}  // namespace

std::string_view normal_domain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
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
  request.role = fmt::format("function '{}'", function.name);
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
