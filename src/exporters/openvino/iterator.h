// A TensorIterator under construction, for operators that walk along an axis. Its body is written
// with the same functions as the graph around it.
#pragma once

#include "exporters/openvino/node_writer.h"
#include "exporters/openvino/windows.h"

namespace scanloom::exporters::openvino {

class Iterator {
 public:
  explicit Iterator(NodeWriter& out);

  // Before the body. Each returns what the body sees of the value.

  /// One slice of x, which has type `type`, per step. The slice keeps the axis.
  Output slice(Output x, tensor::Type type, const Window& window);
  /// In step k, the value passed to next() in step k - 1. States are numbered in call order.
  Output carry(Output initial, const tensor::Type& type);
  Output capture(Output x, const tensor::Type& type);
  /// Input i of the node; a constant stays a constant in the body.
  Output capture_input(std::size_t i);

  [[nodiscard]] NodeWriter& body() { return inside_; }

  // After the body.

  void next(std::size_t state, Output value);
  /// Concatenates the rows along the window's axis.
  void stack(Output row, DType dtype, const Window& window);
  /// Returns the last values of all states, then the stacks.
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
  /// Holds the parts until all operands are known and the layer is made.
  pugi::xml_document parts_;
  pugi::xml_node map_;
  LayerGraph body_;
  NodeWriter inside_;
  std::vector<Output> operands_;
  std::vector<State> states_;
  std::vector<Stack> stacks_;
};

}  // namespace scanloom::exporters::openvino
