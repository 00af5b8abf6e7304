// Graph: expressions as plain data, for printing and drawing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <scanloom/expr.h>

namespace scanloom {

/// A value: an output of a node in the list. Absent operands have node kNone.
struct GraphValue {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t node = kNone;
  std::uint32_t output = 0;
};

struct GraphNode;

/// Nodes, each after those that it reads.
struct Graph {
  std::vector<GraphNode> nodes;
  std::vector<std::size_t> arguments;  ///< for a body: its nodes that are arguments
  std::vector<GraphValue> outputs;
};

struct GraphNode {
  std::string operation;  ///< "add", "loop", "branch"; leaves: "input", "constant", "shared"
  std::string name;       ///< given by the user; empty: none
  std::string value;      ///< for a constant with one element
  std::vector<GraphValue> inputs;
  std::vector<std::string> ports;  ///< for loops and branches: what each input is
  std::vector<std::string> types;  ///< by output, such as "f32[3,?]"
  std::vector<Graph> bodies;       ///< one for a loop; the regions for a branch
};

/// Returns the graph of the expressions, without those that hold an error.
[[nodiscard]] SCANLOOM_API Graph graph_of(const std::vector<Expr>& outputs);

}  // namespace scanloom
