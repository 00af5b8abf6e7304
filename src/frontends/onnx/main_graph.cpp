#include "frontends/onnx/main_graph.h"

#include <algorithm>
#include <map>
#include <set>

#include "frontends/onnx/converter.h"
#include "frontends/onnx/graph_entry.h"
#include "frontends/onnx/types.h"

namespace scanloom::onnx {

using tensor::Type;

namespace {

std::string counted(std::size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

}  // namespace

void report_unknown_operators(const ImportState& state) {
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> unknown;
  std::vector<bool> seen(state.reading.model.graphs.size());
  std::vector<GraphIndex> pending = {0};
  const auto reach = [&](GraphIndex graph) {
    if (!seen[graph]) pending.push_back(graph);
    seen[graph] = true;
  };
  seen[0] = true;
  while (!pending.empty()) {
    const GraphProto& graph = state.reading.model.graphs[pending.back()];
    pending.pop_back();
    for (const NodeProto& node : graph.nodes) {
      const std::string_view domain = normal_domain(node.domain);
      if (const FunctionProto* const function = state.functions.find(node)) {
        reach(function->body);
        for (const AttributeProto& value : function->defaults)
          if (std::ranges::find(node.attributes, value.name, &AttributeProto::name) ==
              node.attributes.end())
            std::ranges::for_each(value.graphs, reach);
      } else if (find_converter(domain, node.op_type) == nullptr) {
        ++unknown[{domain, node.op_type}];
      }
      for (const AttributeProto& attribute : node.attributes)
        std::ranges::for_each(attribute.graphs, reach);
    }
  }
  if (unknown.empty()) return;
  std::string names;
  bool blocked = false;
  for (const auto& [key, count] : unknown) {
    blocked |= key.first == "com.microsoft.nchwc";
    names += fmt::format("{}{}{}{} ({})", names.empty() ? "" : ", ", key.first,
                         key.first.empty() ? "" : ".", key.second, counted(count, "node", "nodes"));
  }
  Error error = fail(Code::unsupported, "onnx: {} cannot be read: {}",
                     counted(unknown.size(), "operator", "operators"), names);
  if (blocked)
    error.note(
        "ONNX Runtime has laid out the weights for one kind of machine: save the optimized model "
        "with ORT_ENABLE_EXTENDED instead of ORT_ENABLE_ALL");
  state.reading.diagnostics.error(std::move(error));
}

BodyRequest request_main(const ImportState& state) {
  BodyRequest request;
  request.builder = std::make_shared<ir::Builder>(state.reading.module, state.reading.module.top());
  request.root = std::make_shared<Root>();
  request.root->opsets = state.reading.model.opsets;
  return request;
}

void enter_inputs(const ImportState& state, GraphFrame& frame) {
  const GraphProto& graph = state.reading.model.graphs[0];
  const GraphFacts& facts = state.reading.facts[0];
  const std::set<NameId> initialised = facts.initialised();
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const NameId name = facts.inputs[i];
    const std::string location = fmt::format("graph input {} '{}'", i, graph.inputs[i].name);
    if (!name.valid()) {
      fail_at(state, frame, location, invalid_model("it has no name"));
      continue;
    }
    if (initialised.contains(name) && !is_fed_default(state, frame, name)) continue;
    if (frame.clashing.contains(name.index)) continue;
    Expected<Type> type = make_type(graph.inputs[i].type, state.reading.module.dims);
    if (!type) {
      fail_at(state, frame, location, std::move(type).error());
      frame.scope.bind(name, Binding::poison());
      continue;
    }
    frame.scope.bind(name, Binding::of(state.reading.module.add_argument(
                               state.reading.module.top(), *std::move(type),
                               std::string(graph.inputs[i].name))));
  }
}

void leave_main(const ImportState& state, GraphFrame& frame) {
  std::vector<Binding> outputs = graph_outputs(state, frame);
  const GraphProto& graph = state.reading.model.graphs[0];
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].poisoned) continue;
    frame.builder->set_location({});
    const ir::ValueId value = outputs[i].materialise(*frame.builder);
    state.reading.module.region(state.reading.module.top()).yields.push_back(value);
    state.reading.module.output_names.emplace_back(graph.outputs[i].name);
    Expected<Type> declared = make_type(graph.outputs[i].type, state.reading.module.dims);
    state.reading.module.declared_outputs.push_back(declared ? *std::move(declared) : Type());
  }
}

}  // namespace scanloom::onnx
