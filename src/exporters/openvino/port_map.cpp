#include "exporters/openvino/port_map.h"

namespace scanloom::exporters::openvino {

pugi::xml_node add_port(pugi::xml_node map, const char* kind, std::int64_t external, int internal) {
  pugi::xml_node entry = map.append_child(kind);
  entry.append_attribute("external_port_id").set_value(static_cast<long long>(external));
  entry.append_attribute("internal_layer_id").set_value(internal);
  return entry;
}

void add_window(pugi::xml_node entry, const Window& window) {
  for (const auto& [name, value] : window_data(window))
    entry.append_attribute(name.c_str()).set_value(value.c_str());
}

void add_back_edge(pugi::xml_node edges, int from_layer, int to_layer) {
  pugi::xml_node edge = edges.append_child("edge");
  edge.append_attribute("from-layer").set_value(from_layer);
  edge.append_attribute("to-layer").set_value(to_layer);
}

}  // namespace scanloom::exporters::openvino
