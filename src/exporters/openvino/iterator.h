// A TensorIterator under construction, for operators that are walks along an axis: its body is
// written with the same words as what stands around it.
#pragma once

#include "exporters/openvino/node_writer.h"
#include "exporters/openvino/windows.h"

namespace scanloom::exporters::openvino {

class Iterator {
 public:
  explicit Iterator(NodeWriter& out);

  // Before the body: each gives what the body has of the value.

  /// A slice of x, of `type`, per step; it keeps the axis.
  Output slice(Output x, tensor::Type type, const Window& window);
  /// Step k has what next() says of step k - 1. States are numbered in the order of their calls.
  Output carry(Output initial, const tensor::Type& type);
  Output capture(Output x, const tensor::Type& type);
  /// Input i of the node, which is a constant of the body where it is one outside.
  Output capture_input(std::size_t i);

  [[nodiscard]] NodeWriter& body() { return inside_; }

  // Behind the body.

  void next(std::size_t state, Output value);
  /// Rows are put end to end along the window's axis.
  void stack(Output row, DType dtype, const Window& window);
  /// The last values of all states, and then the stacks.
  std::vector<Output> finish();

 private:
  Output enter(Output x, const tensor::Type& type, std::string_view name);

  struct State {
    int parameter = -1, result = -1;
    DType dtype = DType::f32;
  };
  struct Stack {
    int result = -1;
    DType dtype = DType::f32;
    Window window;
  };

  NodeWriter& out_;
  /// The layer is made when all operands are known; until then its parts stand here.
  pugi::xml_document parts_;
  pugi::xml_node map_;
  LayerGraph body_;
  NodeWriter inside_;
  std::vector<Output> operands_;
  std::vector<State> states_;
  std::vector<Stack> stacks_;
};

}  // namespace scanloom::exporters::openvino
