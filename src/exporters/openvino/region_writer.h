// Writes a region of the module as a graph of the IR: nodes become layers; loops and branches
// become layers with bodies.
#pragma once

#include <vector>

#include "exporters/openvino/node_writer.h"

namespace scanloom::exporters::openvino {

class RegionWriter {
 public:
  RegionWriter(Writing& writing, LayerGraph& graph) : writing_(writing), graph_(graph) {}

  /// Sets what an argument of the region stands for. Call before nodes().
  void set(ir::ValueId value, Output output) { outputs_[value] = output; }
  void nodes(ir::RegionId region);
  void node(ir::NodeId node);
  [[nodiscard]] Output output(ir::ValueId value) const { return outputs_.at(value); }

 private:
  Writing& writing_;
  LayerGraph& graph_;
  NodeWriter::Outputs outputs_;
};

/// Precondition: the node is a loop.
void write_loop(Writing& writing, NodeWriter& out);
/// Precondition: the node is a branch.
void write_branch(Writing& writing, NodeWriter& out);

}  // namespace scanloom::exporters::openvino
