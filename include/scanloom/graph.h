// Graph: expressions as plain data, for those who print or draw them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <scanloom/expr.h>

namespace scanloom {

/// A value: which output of which node of the list. Operands that are absent name no node.
struct GraphValue {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t node = kNone;
  std::uint32_t output = 0;
};

struct GraphNode;

/// Nodes, each behind those that it reads.
struct Graph {
  std::vector<GraphNode> nodes;
  std::vector<std::size_t> arguments;  ///< of a body: its nodes that are arguments
  std::vector<GraphValue> outputs;
};

struct GraphNode {
  std::string operation;  ///< "add", "loop", "branch"; leaves: "input", "constant", "shared"
  std::string name;       ///< given by the user; empty: none
  std::string value;      ///< of a constant with one element
  std::vector<GraphValue> inputs;
  std::vector<std::string> ports;  ///< of loops and branches: what each input is
  std::vector<std::string> types;  ///< by output, such as "f32[3,?]"
  std::vector<Graph> bodies;       ///< of a loop one; of a branch the sides
};

/// What the expressions are made of. Those that hold an error are left out.
[[nodiscard]] SCANLOOM_API Graph graph_of(const std::vector<Expr>& outputs);

}  // namespace scanloom
