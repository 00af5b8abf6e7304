#include "exporters/openvino/layer_graph.h"

#include <algorithm>

#include "base/expected.h"
#include "base/utf8.h"
#include "exporters/openvino/element_types.h"

namespace scanloom::exporters::openvino {

namespace {

void set(pugi::xml_node element, const char* name, std::string_view value) {
  element.append_attribute(name).set_value(xml_text(value).c_str());
}

}  // namespace

std::string xml_text(std::string_view text) {
  std::string valid = to_valid_utf8(text);
  std::ranges::replace_if(
      valid,
      [](char c) {
        return static_cast<std::uint8_t>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r';
      },
      '?');
  return valid;
}

LayerGraph::LayerGraph(pugi::xml_node parent, WeightsWriter& weights)
    : weights_(weights),
      layers_(parent.append_child("layers")),
      edges_(parent.append_child("edges")) {}

std::string LayerGraph::distinct(std::string_view name, std::string_view type) {
  std::string made =
      name.empty() ? fmt::format("{}_{}", type, elements_.size()) : std::string(name);
  for (int i = 1; !names_.insert(made).second; ++i)
    made = fmt::format("{}_{}", name.empty() ? type : name,
                       elements_.size() + static_cast<std::size_t>(i));
  return made;
}

int LayerGraph::add(const NewLayer& layer) {
  const auto id = static_cast<int>(elements_.size());
  pugi::xml_node element = layers_.append_child("layer");
  set(element, "id", std::to_string(id));
  set(element, "name", distinct(layer.name, layer.type));
  set(element, "type", layer.type);
  set(element, "version", fmt::format("opset{}", layer.opset));
  elements_.push_back(element);
  if (!layer.data.empty()) {
    pugi::xml_node data = element.append_child("data");
    for (const auto& [key, value] : layer.data) set(data, key.c_str(), value);
  }
  int at = 0;
  if (!layer.inputs.empty()) {
    pugi::xml_node inputs = element.append_child("input");
    for (const Output& from : layer.inputs) {
      set(inputs.append_child("port"), "id", std::to_string(at));
      pugi::xml_node edge = edges_.append_child("edge");
      set(edge, "from-layer", std::to_string(from.layer));
      set(edge, "from-port", std::to_string(from.port));
      set(edge, "to-layer", std::to_string(id));
      set(edge, "to-port", std::to_string(at++));
    }
  }
  if (!layer.results.empty()) {
    pugi::xml_node outputs = element.append_child("output");
    for (const DType dtype : layer.results) {
      pugi::xml_node made = outputs.append_child("port");
      set(made, "id", std::to_string(at++));
      set(made, "precision", port_precision(dtype));
    }
  }
  return id;
}

Output LayerGraph::parameter(std::string_view name, const tensor::Type& type) {
  const int id = add({.type = "Parameter",
                      .results = {type.dtype},
                      .data = {{"shape", shape_text(type)},
                               {"element_type", std::string(element_type(type.dtype))}},
                      .name = name});
  describe({id, 0}, type);
  return {id, 0};
}

int LayerGraph::result(Output of, std::string_view name) {
  return add({.type = "Result", .inputs = {of}, .name = name});
}

Output LayerGraph::constant(const tensor::Tensor& value, std::string_view name) {
  const WeightsWriter::Range range = weights_.place(value);
  const int id = add({.type = "Const",
                      .results = {value.dtype()},
                      .data = {{"element_type", std::string(element_type(value.dtype()))},
                               {"shape", list_text(value.shape().dims())},
                               {"offset", std::to_string(range.offset)},
                               {"size", std::to_string(range.size)}},
                      .name = name});
  for (const std::int64_t size : value.shape())
    port({id, 0}).append_child("dim").text().set(std::to_string(size).c_str());
  return {id, 0};
}

pugi::xml_node LayerGraph::port(Output output) const {
  return element(output.layer)
      .child("output")
      .find_child_by_attribute("port", "id", std::to_string(output.port).c_str());
}

void LayerGraph::describe(Output output, const tensor::Type& type) {
  pugi::xml_node described = port(output);
  if (!type.ranked || described.child("dim")) return;
  for (const tensor::Dim dim : type.dims)
    described.append_child("dim").text().set(
        std::to_string(dim.is_constant() ? dim.value() : -1).c_str());
}

void LayerGraph::name_tensor(Output output, std::span<const std::string> names) {
  std::string escaped;
  for (const std::string& name : names) {
    if (!escaped.empty()) escaped += ',';
    for (const char c : name) {
      if (c == ',') escaped += '\\';
      escaped += c;
    }
  }
  set(port(output), "names", escaped);
}

bool LayerGraph::is_named(Output output) const { return !!port(output).attribute("names"); }

std::string list_text(std::span<const std::int64_t> values) {
  return fmt::format("{}", fmt::join(values, ","));
}

std::string real_text(double value) { return fmt::format("{}", value); }

}  // namespace scanloom::exporters::openvino
