// A node that is being read: what is known about it, and whether it can be converted.
#pragma once

#include <string>

#include "frontends/onnx/converter.h"
#include "frontends/onnx/graph_frame.h"

namespace scanloom::onnx {

/// A node of a frame and everything known about it.
struct NodeStep {
  const NodeProto& node;
  const NodeFacts& facts;
  std::uint32_t index;  ///< in the file
  const FunctionProto* function = nullptr;
  const Converter* converter = nullptr;
  std::int64_t version = 0;
  std::string location;
};

[[nodiscard]] NodeStep describe_step(const ImportState& state, const GraphFrame& frame,
                                     std::uint32_t index);

/// Returns the context in which the node is converted, and sets the location of what the frame
/// builds to the node's.
[[nodiscard]] NodeSite site_of(const ImportState& state, GraphFrame& frame, const NodeStep& step);

/// Whether all inputs of the node were made without errors. Error: one is made by nothing.
Expected<bool> inputs_are_ready(GraphFrame& frame, const NodeStep& step);

/// Checks the version of the operator set and the numbers of inputs and outputs against the node's
/// converter. Precondition: it has one.
Expected<void> check_signature(const ImportState& state, const GraphFrame& frame,
                               const NodeStep& step);

/// Reports attributes that the converter never asked for: one might change what the operator does.
/// Returns false if there are any, unless the reading is lenient.
bool check_attributes(const ImportState& state, const GraphFrame& frame, const NodeStep& step,
                      const NodeCtx& ctx);

}  // namespace scanloom::onnx
