#include "frontends/onnx/graph_entry.h"

#include <algorithm>

#include "frontends/onnx/node_step.h"
#include "frontends/onnx/unique_names.h"

namespace scanloom::onnx {
namespace {

/// Limit on the nodes of a cycle that a message names.
constexpr std::size_t kNamedNodes = 5;

void enter_initialisers(const ImportState& state, GraphFrame& frame) {
  const GraphProto& graph = state.reading.model.graphs[frame.graph];
  const GraphFacts& facts = state.reading.facts[frame.graph];
  const auto enter = [&](NameId name, Expected<tensor::Tensor> tensor) {
    if (!name.valid())
      return fail_at(state, frame, "an initialiser", invalid_model("it has no name"));
    if (frame.clashing.contains(name.index)) return;
    frame.show(name);
    if (!tensor) {
      frame.scope.bind(name, Binding::poison());
      return fail_at(state, frame, "initialiser", std::move(tensor).error());
    }
    frame.scope.bind(name, Binding::of(std::make_shared<const tensor::Tensor>(*std::move(tensor))));
  };
  for (std::size_t i = 0; i < graph.initialisers.size(); ++i)
    if (!is_fed_default(state, frame, facts.initialisers[i]))
      enter(facts.initialisers[i], state.reading.tensors.read(graph.initialisers[i]));
  for (std::size_t i = 0; i < graph.sparse_initialisers.size(); ++i)
    if (!is_fed_default(state, frame, facts.sparse_initialisers[i]))
      enter(facts.sparse_initialisers[i], state.reading.tensors.read(graph.sparse_initialisers[i]));
}

void enter_declared(const ImportState& state, GraphFrame& frame) {
  const GraphProto& graph = state.reading.model.graphs[frame.graph];
  const auto enter = [&](const ValueInfoProto& info) {
    if (!info.name.empty() && info.type.kind != TypeProto::Kind::none)
      frame.declared.try_emplace(state.reading.names.intern(info.name).index, &info.type);
  };
  std::ranges::for_each(graph.outputs, enter);
  std::ranges::for_each(graph.value_infos, enter);
}

/// Computes the captures of bodies passed to the function, which differ between its calls.
void enter_captures(ImportState& state, GraphFrame& frame) {
  const GraphFacts& facts = state.reading.facts[frame.graph];
  if (facts.references.empty()) return;
  for (std::uint32_t node = 0; node < facts.nodes.size(); ++node) {
    std::vector<NameId> captures = facts.nodes[node].captures;
    std::unordered_set<std::uint32_t> seen;
    for (const NameId name : captures) seen.insert(name.index);
    for (const std::string_view reference : facts.nodes[node].references)
      if (const GivenAttribute* const given = frame.root->find(reference))
        for (const NameId name : given->reads)
          if (seen.insert(name.index).second) captures.push_back(name);
    if (captures.size() == facts.nodes[node].captures.size()) continue;
    state.called_nodes += captures.size();
    if (state.called_nodes > kMaxCalledNodes) return;  // the first of their bodies reports it
    frame.captures.emplace(node, std::move(captures));
  }
}

void enter_order(const ImportState& state, GraphFrame& frame) {
  const GraphFacts& facts = state.reading.facts[frame.graph];
  frame.order = order_nodes(facts, frame.captures);
  if (frame.order.cycle.empty()) return;
  std::string names;
  const std::size_t count = frame.order.cycle.size();
  for (std::size_t i = 0; i < std::min(count, kNamedNodes); ++i)
    names +=
        (names.empty() ? "" : ", ") + describe_step(state, frame, frame.order.cycle[i]).location;
  if (count > kNamedNodes) names += fmt::format(" and {} more", count - kNamedNodes);
  Error error = invalid_model("onnx: these nodes depend on each other: {}", names);
  if (!frame.label.empty()) error.note("in " + frame.label);
  std::size_t notes = 0;
  for (const std::uint32_t node : frame.order.cycle)
    for (const NameId name : facts.nodes[node].outputs)
      if (const auto outer = frame.root->visible.find(name.index);
          outer != frame.root->visible.end() && outer->second > 0 && notes++ < kNamedNodes)
        error.note(
            fmt::format("'{}' is also a value outside, which is hidden from the nodes of a body "
                        "that defines the same name",
                        shown_name(state.reading.names.text(name))));
  // If names clash, it is unclear which node is waited for.
  if (frame.clashing.empty()) state.reading.diagnostics.error(std::move(error));
  std::vector<bool> placed(facts.nodes.size());
  for (const std::uint32_t node : frame.order.nodes) placed[node] = true;
  for (std::size_t node = 0; node < placed.size(); ++node)
    if (!placed[node]) frame.poison_outputs(facts.nodes[node]);
}

}  // namespace

std::unique_ptr<GraphFrame> make_frame(ImportState& state, BodyRequest request, std::string label) {
  auto frame = std::make_unique<GraphFrame>();
  frame->graph = request.graph;
  frame->builder = std::move(request.builder);
  frame->root = std::move(request.root);
  frame->label = std::move(label);
  frame->errors_before = state.reading.diagnostics.error_count();
  for (auto& [name, binding] : request.bindings) frame->scope.bind(name, std::move(binding));
  check_names(state, *frame);
  for (const NameId name : state.reading.facts[frame->graph].inputs) frame->show(name);
  enter_initialisers(state, *frame);
  enter_declared(state, *frame);
  enter_captures(state, *frame);
  enter_order(state, *frame);
  return frame;
}

std::vector<Binding> graph_outputs(const ImportState& state, GraphFrame& frame) {
  std::vector<Binding> outputs;
  const GraphFacts& facts = state.reading.facts[frame.graph];
  for (std::size_t i = 0; i < facts.outputs.size(); ++i) {
    const NameId name = facts.outputs[i];
    const Binding* const binding = name.valid() ? frame.scope.find(name) : nullptr;
    if (binding == nullptr) {
      const std::string_view text =
          name.valid() ? state.reading.names.text(name) : std::string_view();
      fail_at(state, frame, fmt::format("graph output {} '{}'", i, text),
              invalid_model("no node produces it"));
    } else if (!frame.label.empty() && binding->is_absent()) {
      fail_at(state, frame, fmt::format("graph output {} '{}'", i, state.reading.names.text(name)),
              invalid_model("it is an input that the call omits"));
    }
    outputs.push_back(binding == nullptr ? Binding::poison() : *binding);
  }
  return outputs;
}

}  // namespace scanloom::onnx
