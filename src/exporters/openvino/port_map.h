// The XML of a loop's port map and back edges, as LoopWriter and Iterator write them.
#pragma once

#include <cstdint>
#include <pugixml.hpp>

#include "exporters/openvino/windows.h"

namespace scanloom::exporters::openvino {

/// Appends an entry of `kind` ("input" or "output") to a port_map. The external port is -1 where
/// the value does not leave the loop; `internal` is the layer of the body.
pugi::xml_node add_port(pugi::xml_node map, const char* kind, std::int64_t external, int internal);

/// Adds the attributes of a sliced or concatenated port: axis, start, end, stride, part_size.
void add_window(pugi::xml_node entry, const Window& window);

/// Appends an edge from the layer of the body that makes a state to the parameter that reads it.
void add_back_edge(pugi::xml_node edges, int from_layer, int to_layer);

}  // namespace scanloom::exporters::openvino
