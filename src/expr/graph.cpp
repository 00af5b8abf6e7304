#include <scanloom/graph.h>

#include <charconv>
#include <unordered_map>

#include "expr/node.h"

namespace scanloom {
namespace {

using expr::Kind;
using expr::Node;

/// Returns the element of a constant that has one.
std::string value_text(const Node& node) {
  if (node.value.elements() != 1) return {};
  const Expr wide = cast(expr::constant_of(node.value), DType::f64);
  if (wide.error() != nullptr || wide.node()->kind != Kind::constant) return {};
  char text[32];
  const double value = wide.node()->value.as<double>()[0];
  const auto end = std::to_chars(text, text + sizeof(text), value, std::chars_format::general, 6);
  return {text, end.ptr};
}

std::string operation(const Node& node) {
  switch (node.kind) {
    case Kind::input:
    case Kind::failed:
      return "input";
    case Kind::constant:
      return "constant";
    case Kind::shared:
      return "shared";
    case Kind::op:
    case Kind::loop:
    case Kind::branch:
      break;
  }
  return std::string(node.op->name);
}

/// The user's name of a loop without "scan" and quotes, or that of the first value.
std::string name_of(const Node& node) {
  const std::string& location = node.location;
  const std::size_t first = location.find('\'');
  if (first != std::string::npos && node.kind != Kind::input)
    return location.substr(first + 1, location.rfind('\'') - first - 1);
  for (const std::string& name : node.names)
    if (!name.empty()) return name;
  return {};
}

std::vector<std::string> ports_of(const Node& node) {
  if (node.kind == Kind::branch) {
    std::vector<std::string> ports{"condition"};
    ports.resize(1 + node.outputs.size(), "then");
    ports.resize(1 + 2 * node.outputs.size(), "else");
    return ports;
  }
  if (node.kind != Kind::loop) return {};
  const ir::LoopPorts& loop = node.loop->ports;
  std::vector<std::string> ports;
  if (loop.has_trip_count) ports.emplace_back("steps");
  if (loop.has_condition) ports.emplace_back("condition");
  ports.insert(ports.end(), loop.captured, "captured");
  ports.insert(ports.end(), loop.carried, "carried");
  ports.insert(ports.end(), loop.scanned.size(), "scanned");
  return ports;
}

// Recursion depth is the nesting depth of loops and branches.
Graph graph(const std::vector<Expr>& outputs, const std::vector<Expr>& args) {
  Graph made;
  std::unordered_map<const Node*, std::size_t> positions;
  std::vector<Expr> roots = args;
  for (const Expr& x : outputs)
    if (x.defined() && x.error() == nullptr) roots.push_back(x);
  const auto value = [&](const Expr& x) {
    const auto found = x.defined() ? positions.find(x.node().get()) : positions.end();
    return found == positions.end() ? GraphValue{} : GraphValue{found->second, x.output()};
  };
  for (const Node* node : expr::reachable(roots)) {
    GraphNode row{operation(*node), name_of(*node), {}, {}, ports_of(*node), {}, {}};
    if (node->kind == Kind::constant) row.value = value_text(*node);
    for (const Expr& x : node->inputs) row.inputs.push_back(value(x));
    for (const expr::StaticType& type : node->outputs) row.types.push_back(expr::to_string(type));
    if (node->loop) row.bodies.push_back(graph(node->body.yields, node->body.args));
    positions.emplace(node, made.nodes.size());
    made.nodes.push_back(std::move(row));
  }
  for (const Expr& arg : args) made.arguments.push_back(positions.at(arg.node().get()));
  for (const Expr& x : outputs) made.outputs.push_back(value(x));
  return made;
}

}  // namespace

Graph graph_of(const std::vector<Expr>& outputs) { return graph(outputs, {}); }

}  // namespace scanloom
