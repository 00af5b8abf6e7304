#include "exporters/openvino/iterator.h"

#include "exporters/openvino/port_map.h"

namespace scanloom::exporters::openvino {

Iterator::Iterator(NodeWriter& out)
    : out_(out),
      map_(parts_.append_child("port_map")),
      body_(parts_.append_child("body"), out.graph().weights()),
      inside_(out.inside(body_)) {}

Output Iterator::enter(Output x, const tensor::Type& type, std::string_view name) {
  const Output parameter = body_.parameter(name, type);
  add_port(map_, "input", static_cast<std::int64_t>(operands_.size()), parameter.layer);
  operands_.push_back(x);
  return parameter;
}

Output Iterator::slice(Output x, tensor::Type type, const Window& window) {
  type.dims[static_cast<std::size_t>(window.axis)] = tensor::Dim(window.part);
  const Output parameter = enter(x, type, "slice");
  add_window(map_.last_child(), window);
  return parameter;
}

Output Iterator::carry(Output initial, const tensor::Type& type) {
  const Output parameter = enter(initial, type, "state");
  states_.push_back({.parameter = parameter.layer, .dtype = type.dtype});
  return parameter;
}

Output Iterator::capture(Output x, const tensor::Type& type) { return enter(x, type, "captured"); }

Output Iterator::capture_input(std::size_t i) {
  if (const tensor::Tensor* const known = out_.constant_in(i)) return body_.constant(*known);
  return capture(out_.in(i), out_.type(i));
}

void Iterator::next(std::size_t state, Output value) {
  states_[state].result = body_.result(value);
}

void Iterator::stack(Output row, DType dtype, const Window& window) {
  stacks_.push_back({body_.result(row), dtype, window});
}

std::vector<Output> Iterator::finish() {
  std::vector<DType> dtypes;
  for (const State& state : states_) dtypes.push_back(state.dtype);
  for (const Stack& stack : stacks_) dtypes.push_back(stack.dtype);
  auto external = static_cast<std::int64_t>(operands_.size());
  std::vector<Output> made = out_.layers("TensorIterator", 1, std::move(operands_), dtypes);
  pugi::xml_node edges = parts_.append_child("back_edges");
  for (const State& state : states_) {
    add_port(map_, "output", external++, state.result);
    add_back_edge(edges, state.result, state.parameter);
  }
  for (const Stack& stack : stacks_)
    add_window(add_port(map_, "output", external++, stack.result), stack.window);
  pugi::xml_node layer = out_.graph().element(made.front().layer);
  for (const char* const part : {"port_map", "back_edges", "body"})
    layer.append_copy(parts_.child(part));
  return made;
}

}  // namespace scanloom::exporters::openvino
