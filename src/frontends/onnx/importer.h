// Importer: walks the graphs of a model and calls the converter of every node. Bodies are kept on
// an explicit stack, so nesting does not recurse. Errors are collected: after an error the node's
// outputs count as produced, so one mistake is reported once.
//
// Example, for a Loop. request_main() makes the Root (operator sets, function attributes) and a
// BodyRequest (graph, builder, bindings) for the main graph. push() turns the request into a
// GraphFrame with its Scope, which binds each name produced so far. read_node() makes the NodeStep
// of the Loop (node, converter, location) and calls the converter with a NodeCtx. The converter
// adds the loop node and leaves an OpenNode with a BodyRequest for the body: a new region, its
// arguments bound to formals and captured names, and the same Root (a function call gets a new Root
// in the region of the call). continue_open() takes that request, push() makes the body's
// GraphFrame, and run() reads its nodes in the same way until pop() turns its outputs into a
// BodyResult of the frame below. When continue_open() finds no more requests, it calls
// OpenNode::finish(), which makes yields and results from the BodyResults; bind_outputs() enters
// them into the Scope.
#pragma once

#include <string>

#include "frontends/onnx/graph_frame.h"
#include "frontends/onnx/node_step.h"

namespace scanloom::onnx {

class Importer {
 public:
  explicit Importer(Reading& reading)
      : state_{.reading = reading,
               .functions = FunctionTable(reading.model, reading.diagnostics),
               .frames = {}} {}

  /// Reads the main graph into the top region of the module.
  void run();

 private:
  void push(BodyRequest request, std::string label);
  void pop();
  void advance(GraphFrame& frame);
  void read_node(GraphFrame& frame, std::uint32_t index);
  void continue_open(GraphFrame& frame);
  void read_body(GraphFrame& frame, BodyRequest& request, const NodeStep& step);
  void finish_open(GraphFrame& frame, const NodeStep& step);

  /// Counts what a called graph, or one inside a body, adds to the module; false if that exceeds
  /// the limit.
  [[nodiscard]] bool count_called(const BodyRequest& request);
  /// Abandons all open graphs.
  void give_up();

  ImportState state_;
};

}  // namespace scanloom::onnx
