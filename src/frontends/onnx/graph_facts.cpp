#include "frontends/onnx/graph_facts.h"

#include <unordered_set>

namespace scanloom::onnx {
namespace {

struct HashName {
  std::size_t operator()(NameId id) const { return id.index; }
};
using NameSet = std::unordered_set<NameId, HashName>;

std::vector<NameId> intern_all(const std::vector<std::string_view>& texts, NameTable& names) {
  std::vector<NameId> ids;
  ids.reserve(texts.size());
  for (const std::string_view text : texts) ids.push_back(names.intern(text));
  return ids;
}

std::vector<NameId> intern_all(const std::vector<ValueInfoProto>& infos, NameTable& names) {
  std::vector<NameId> ids;
  ids.reserve(infos.size());
  for (const ValueInfoProto& info : infos) ids.push_back(names.intern(info.name));
  return ids;
}

/// Returns the captures of all bodies of a node, each name once, in order of first use.
std::vector<NameId> node_captures(const NodeProto& node, const std::vector<GraphFacts>& all) {
  std::vector<NameId> captures;
  NameSet seen;
  for (const AttributeProto& attribute : node.attributes)
    for (const GraphIndex body : attribute.graphs)
      for (const NameId name : all[body].captures)
        if (seen.insert(name).second) captures.push_back(name);
  return captures;
}

/// Whether the attribute may be a graph: older files do not declare its kind.
bool may_be_graph(const AttributeProto& attribute) {
  const std::int64_t kind = attribute.declared;
  return kind == static_cast<std::int64_t>(AttributeKind::undefined) ||
         kind == static_cast<std::int64_t>(AttributeKind::graph) ||
         kind == static_cast<std::int64_t>(AttributeKind::graphs);
}

/// Returns the references of a node and its bodies, each once, in order of first use.
std::vector<std::string_view> node_references(const NodeProto& node,
                                              const std::vector<GraphFacts>& all) {
  std::vector<std::string_view> references;
  std::unordered_set<std::string_view> seen;
  const auto add = [&](std::string_view name) {
    if (seen.insert(name).second) references.push_back(name);
  };
  for (const AttributeProto& attribute : node.attributes) {
    if (!attribute.reference.empty() && may_be_graph(attribute)) add(attribute.reference);
    for (const GraphIndex body : attribute.graphs)
      for (const std::string_view name : all[body].references) add(name);
  }
  return references;
}

/// Collects what a graph reads: formals that are read, and names it does not produce.
class Reads {
 public:
  explicit Reads(GraphFacts& facts) : facts_(facts) {
    for (const NameId name : facts.inputs) made_.insert(name);
    for (const NameId name : facts.initialisers) made_.insert(name);
    for (const NameId name : facts.sparse_initialisers) made_.insert(name);
    for (const NodeFacts& node : facts.nodes)
      for (const NameId name : node.outputs) made_.insert(name);
  }
  void add(const std::vector<NameId>& read) {
    for (const NameId name : read)
      if (name.valid() && seen_.insert(name).second && !made_.contains(name))
        facts_.captures.push_back(name);
  }
  [[nodiscard]] bool reads(NameId name) const { return seen_.contains(name); }

 private:
  GraphFacts& facts_;
  NameSet made_, seen_;
};

GraphFacts facts_of(const GraphProto& graph, const std::vector<GraphFacts>& all, NameTable& names) {
  GraphFacts facts;
  facts.inputs = intern_all(graph.inputs, names);
  facts.outputs = intern_all(graph.outputs, names);
  for (const TensorProto& tensor : graph.initialisers)
    facts.initialisers.push_back(names.intern(tensor.name));
  for (const SparseTensorProto& tensor : graph.sparse_initialisers)
    facts.sparse_initialisers.push_back(names.intern(tensor.values.name));
  for (const NodeProto& node : graph.nodes)
    facts.nodes.push_back({intern_all(node.inputs, names), intern_all(node.outputs, names),
                           node_captures(node, all), node_references(node, all)});
  Reads reads(facts);
  for (const NodeFacts& node : facts.nodes) {
    reads.add(node.inputs);
    reads.add(node.captures);
  }
  reads.add(facts.outputs);
  for (const NameId name : facts.inputs) facts.input_is_read.push_back(reads.reads(name));
  std::unordered_set<std::string_view> seen;
  for (const NodeFacts& node : facts.nodes)
    for (const std::string_view name : node.references)
      if (seen.insert(name).second) facts.references.push_back(name);
  return facts;
}

}  // namespace

std::set<NameId> GraphFacts::initialised() const {
  std::set<NameId> names(initialisers.begin(), initialisers.end());
  names.insert(sparse_initialisers.begin(), sparse_initialisers.end());
  return names;
}

Expected<std::vector<GraphFacts>> gather_facts(const ModelProto& model, NameTable& names) {
  std::vector<GraphFacts> all(model.graphs.size());
  std::size_t captures = 0;
  // Bodies are stored after their owners, so in reverse order every body is processed before its
  // owner.
  for (std::size_t index = model.graphs.size(); index-- > 0;) {
    all[index] = facts_of(model.graphs[index], all, names);
    captures += all[index].captures.size() + all[index].references.size();
    if (captures > kMaxCaptures)
      return fail(Code::limit_reached, "onnx: the bodies capture more than {} outer names",
                  kMaxCaptures);
  }
  return all;
}

}  // namespace scanloom::onnx
