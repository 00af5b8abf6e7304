#include "frontends/onnx/function_call.h"

#include <algorithm>
#include <span>
#include <unordered_set>

namespace scanloom::onnx {
namespace {

/// The number of operands, and of attribute bytes, that count as one more node.
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

/// A list of distinct names, in insertion order.
class NameList {
 public:
  void add(std::span<const NameId> names) {
    for (const NameId name : names)
      if (seen_.insert(name.index).second) names_.push_back(name);
  }
  std::vector<NameId> take() { return std::move(names_); }

 private:
  std::unordered_set<std::uint32_t> seen_;
  std::vector<NameId> names_;
};

/// Returns the outer names read by graphs that are written in the scopes of `root`.
std::vector<NameId> outer_names(const Reading& reading, const Root& root,
                                const AttributeProto& value) {
  NameList names;
  for (const GraphIndex graph : value.graphs) {
    const GraphFacts& facts = reading.facts[graph];
    names.add(facts.captures);
    for (const std::string_view reference : facts.references)
      if (const GivenAttribute* const given = root.find(reference)) names.add(given->reads);
  }
  return names.take();
}

/// Binds, in the scope of the function, the outer names read by the graphs of a call's attribute.
GivenAttribute handed_in(NodeCtx& ctx, const AttributeUse& use, BodyRequest& request) {
  GivenAttribute made{.value = use.value};
  Scope& scope = ctx.site().scope;
  if (use.through != nullptr && use.through->origin != nullptr) {  // it is passed on
    made.origin = use.through->origin;
    made.aliases = use.through->aliases;
    for (const auto& [name, alias] : made.aliases)
      if (const Binding* const outer = scope.find(alias))
        request.bindings.emplace_back(alias, *outer);
  } else {
    made.origin = ctx.site().root;
    for (const NameId name : outer_names(ctx.reading(), *made.origin, *use.value)) {
      const Binding* const outer = scope.find(name);
      if (outer == nullptr) continue;  // the graph reports the node that reads it
      made.aliases.emplace_back(name, ctx.reading().names.fresh(name));
      request.bindings.emplace_back(made.aliases.back().second, *outer);
    }
  }
  for (const auto& [name, alias] : made.aliases) made.reads.push_back(alias);
  return made;
}

/// Returns the names that the graphs of a default value read from the function, including those
/// read through attributes the graphs use. Stops once `cost` exceeds kMaxCaptures.
std::vector<NameId> reads_of_default(const Reading& reading, const Root& root,
                                     const GivenAttribute& start, std::size_t& cost) {
  NameList names;
  std::vector<const GivenAttribute*> pending = {&start};
  std::unordered_set<const GivenAttribute*> seen = {&start};
  const auto take = [&](const GivenAttribute& other) {
    cost += 1 + other.reads.size();
    if (other.origin != nullptr)
      names.add(other.reads);
    else if (other.value != nullptr && seen.insert(&other).second)
      pending.push_back(&other);
  };
  while (!pending.empty() && cost <= kMaxCaptures) {
    const AttributeProto& value = *pending.back()->value;
    pending.pop_back();
    for (const GraphIndex graph : value.graphs) {
      const GraphFacts& facts = reading.facts[graph];
      cost += 1 + facts.captures.size();
      names.add(facts.captures);
      for (const std::string_view reference : facts.references)
        if (const GivenAttribute* const other = root.find(reference)) take(*other);
    }
  }
  return names.take();
}

/// Makes the Root of a call: the values of the function's attributes in this call.
Expected<std::shared_ptr<Root>> root_of_call(NodeCtx& ctx, const FunctionProto& function,
                                             BodyRequest& request) {
  auto root = std::make_shared<Root>();
  root->opsets = function.opsets;
  // Opsets that a function does not import are those of the model.
  root->opsets.insert(root->opsets.end(), ctx.reading().model.opsets.begin(),
                      ctx.reading().model.opsets.end());
  std::vector<std::string_view> names = function.attributes;
  for (const AttributeProto& attribute : function.defaults) names.push_back(attribute.name);
  for (const std::string_view name : names) {
    SCANLOOM_TRY(const AttributeUse use, ctx.use_of(name));
    if (use.value == nullptr)
      root->attributes.try_emplace(name, GivenAttribute{.value = default_of(function, name)});
    else if (use.value->graphs.empty())
      root->attributes.try_emplace(name, GivenAttribute{.value = use.value});
    else if (!root->attributes.contains(name))
      root->attributes.emplace(name, handed_in(ctx, use, request));
  }
  for (auto& [name, given] : root->attributes)
    if (given.value != nullptr && given.origin == nullptr && !given.value->graphs.empty())
      given.reads = reads_of_default(ctx.reading(), *root, given, request.cost);
  if (request.cost > kMaxCaptures)
    return fail(Code::limit_reached, "the defaults of function '{}' read more than {} names",
                shown_name(function.name), kMaxCaptures);
  return root;
}

/// Returns the bytes of an attribute that a node may copy. Tensors are read once and graphs are
/// counted separately.
std::size_t copied_bytes(const AttributeProto& attribute) {
  std::size_t bytes = attribute.text.size() + attribute.integers.size() * sizeof(std::int64_t) +
                      attribute.floats.size() * sizeof(double);
  for (const std::string_view text : attribute.texts) bytes += sizeof(std::string) + text.size();
  return bytes;
}

/// The same for all nodes in a graph of a function, whose attributes may refer to the function's.
std::size_t copied_bytes(const GraphProto& graph, const Root& root) {
  std::size_t largest = 0;
  for (const auto& [name, given] : root.attributes)
    if (given.value != nullptr) largest = std::max(largest, copied_bytes(*given.value));
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
  std::size_t size = request.bindings.size() + request.cost + graph.nodes.size() +
                     graph.initialisers.size() + graph.sparse_initialisers.size() +
                     graph.value_infos.size() + graph.outputs.size();
  // Sorting nodes costs time for every operand; nodes with few operands count as one.
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
    return invalid_model("it has {} inputs, but the function '{}' has {}", ctx.input_count(),
                         function.name, facts.inputs.size());
  if (static_cast<std::size_t>(ctx.output_count()) > facts.outputs.size())
    return invalid_model("it has {} outputs, but the function '{}' has {}", ctx.output_count(),
                         function.name, facts.outputs.size());
  BodyRequest request;
  request.graph = function.body;
  request.role = fmt::format("function '{}'", shown_name(function.name));
  request.builder = std::make_shared<ir::Builder>(ctx.module(), ctx.builder().region());
  SCANLOOM_TRY(request.root, root_of_call(ctx, function, request));
  for (std::size_t i = 0; i < facts.inputs.size(); ++i) {
    if (!facts.inputs[i].valid()) continue;
    Binding binding;  // neither value nor constant: an input the call leaves out
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
