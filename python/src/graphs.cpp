// Bindings that return graphs as plain Python dictionaries and lists.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <scanloom/graph.h>

#include "expressions.h"
#include "text.h"

namespace scanloom::python {
namespace {

/// Returns (node, output), or None.
nb::object value(const GraphValue& of) {
  if (of.node == GraphValue::kNone) return nb::none();
  return nb::make_tuple(of.node, of.output);
}

nb::list values(const std::vector<GraphValue>& all) {
  nb::list listed;
  for (const GraphValue& one : all) listed.append(value(one));
  return listed;
}

// Recurses over nested loops and branches.
nb::dict plain(const Graph& graph) {
  nb::list nodes;
  for (const GraphNode& node : graph.nodes) {
    nb::list bodies;
    for (const Graph& body : node.bodies) bodies.append(plain(body));
    nb::dict row;
    row["operation"] = text(node.operation);
    row["name"] = text(node.name);
    row["value"] = text(node.value);
    row["inputs"] = values(node.inputs);
    row["ports"] = texts(node.ports);
    row["types"] = texts(node.types);
    row["bodies"] = bodies;
    nodes.append(row);
  }
  nb::dict made;
  made["nodes"] = nodes;
  made["arguments"] = nb::cast(graph.arguments);
  made["outputs"] = values(graph.outputs);
  return made;
}

}  // namespace

void bind_graphs(nb::module_& module) {
  module.def("graph", [](const std::vector<Expr>& outputs) { return plain(graph_of(outputs)); });
}

}  // namespace scanloom::python
