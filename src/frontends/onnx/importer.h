// Importer: walks the graphs of a model and calls the converter of every node. Bodies are kept on
// an explicit stack, so nesting does not recurse. Errors are collected: after an error the node's
// outputs count as produced, so one mistake is reported once.
//
// Example, for a Loop. enter_main() makes the Root (operator sets, function attributes) and a
// BodyRequest (graph, builder, bindings) for the main graph. push() turns the request into a Frame
// with its Scope, which binds each name produced so far. read_node() makes the Step of the Loop
// (node, converter, location) and calls the converter with a NodeCtx. The converter adds the loop
// node and leaves an OpenNode with a BodyRequest for the body: a new region, its arguments bound to
// formals and captured names, and the same Root (a function call gets a new Root in the region of
// the call). continue_open() takes that request, push() makes the body's Frame, and run() reads its
// nodes in the same way until pop() turns its outputs into a BodyResult of the frame below. When
// continue_open() finds no more requests, it calls OpenNode::finish(), which makes yields and
// results from the BodyResults; bind_outputs() enters them into the Scope.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "frontends/onnx/converter.h"
#include "frontends/onnx/function_call.h"
#include "frontends/onnx/node_order.h"

namespace scanloom::onnx {

class Importer {
 public:
  explicit Importer(Reading& reading)
      : reading_(reading), functions_(reading.model, reading.diagnostics) {}

  /// Reads the main graph into the top region of the module.
  void run();

 private:
  /// A graph that is being read.
  struct GraphFrame {
    GraphIndex graph = 0;
    std::shared_ptr<ir::Builder> builder;
    std::shared_ptr<Root> root;
    std::string label;  ///< "the body of node 'gru' (Scan-11)"; empty for the main graph
    Scope scope;
    NodeNames captures;  ///< of nodes whose bodies were passed to the function
    NodeOrder order;
    bool called = false;                         ///< a function's graph, or inside one
    std::unordered_set<std::uint32_t> clashing;  ///< names of several values, by NameId::index
    std::size_t next = 0;                        ///< position in order.nodes
    std::vector<NameId> shown;                   ///< names this graph makes visible to its bodies
    std::unordered_map<std::uint32_t, const TypeProto*> declared;  ///< by NameId::index
    std::unique_ptr<OpenNode> open;  ///< the node before `next`, while its bodies are read
    std::size_t next_body = 0;
    std::vector<BodyResult> results;
    bool body_failed = false;
    std::size_t errors_before = 0;
  };

  /// A node of a frame and everything known about it.
  struct Step {
    const NodeProto& node;
    const NodeFacts& facts;
    std::uint32_t index;  // in the file
    const FunctionProto* function = nullptr;
    const Converter* converter = nullptr;
    std::int64_t version = 0;
    std::string location;
  };

  struct Maker;

  void report_unknown_operators();
  void enter_main();
  void enter_inputs(GraphFrame& frame, const GraphProto& graph, const GraphFacts& facts);
  void leave_main(GraphFrame& frame);

  void push(BodyRequest request, std::string label);
  void check_names(GraphFrame& frame);
  template <class Take>
  void for_each_made(const GraphFrame& frame, const Take& take) const;
  void enter_initialisers(GraphFrame& frame);
  [[nodiscard]] bool is_fed_default(const GraphFrame& frame, NameId name) const;
  void enter_declared(GraphFrame& frame);
  void enter_captures(GraphFrame& frame);
  void enter_order(GraphFrame& frame);
  void pop();
  [[nodiscard]] std::vector<Binding> graph_outputs(GraphFrame& frame);

  /// Whether the graph is a function's, or inside one: it is read once per call.
  [[nodiscard]] bool is_called(const BodyRequest& request) const;
  /// Counts what a called graph adds to the module; false if that exceeds the limit.
  [[nodiscard]] bool count_called(const BodyRequest& request);
  /// Abandons all open graphs.
  void give_up();
  void advance(GraphFrame& frame);
  void continue_open(GraphFrame& frame);
  void read_node(GraphFrame& frame, std::uint32_t index);
  [[nodiscard]] Step describe(const GraphFrame& frame, std::uint32_t index) const;
  [[nodiscard]] std::string describe(const GraphFrame& frame, const Maker& maker) const;
  [[nodiscard]] std::string describe_outer(NameId wanted) const;
  [[nodiscard]] NodeSite site(GraphFrame& frame, const Step& step);
  /// Errors; false without an error if an input failed before.
  Expected<bool> inputs_are_ready(GraphFrame& frame, const Step& step) const;
  Expected<void> check_version(const Step& step, const Root& root) const;
  Expected<void> check_counts(const Step& step) const;
  /// False if an error was reported.
  bool check_attributes(const GraphFrame& frame, const Step& step, const NodeCtx& ctx);
  void bind_outputs(GraphFrame& frame, const Step& step, NodeCtx& ctx);
  Expected<void> bind_output(GraphFrame& frame, const Step& step, NameId name, Binding binding);
  Expected<void> check_declared(GraphFrame& frame, NameId name, ir::ValueId value);
  void poison_outputs(GraphFrame& frame, const NodeFacts& facts);
  void show(GraphFrame& frame, NameId name);
  void fail_at(const GraphFrame& frame, const std::string& location, Error error);

  Reading& reading_;
  FunctionTable functions_;
  std::vector<std::unique_ptr<GraphFrame>> stack_;
  std::size_t called_nodes_ = 0;  ///< in functions, including everything their bodies add
};

}  // namespace scanloom::onnx
