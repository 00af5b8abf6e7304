// The XML of a loop's port map and back edges, used by LoopWriter and Iterator.
#pragma once

#include <cstdint>
#include <pugixml.hpp>

#include "exporters/openvino/windows.h"

namespace scanloom::exporters::openvino {

/// Appends an entry of `kind` ("input" or "output") to a port_map. The external port is -1 if the
/// value does not leave the loop; `internal` is the layer in the body.
pugi::xml_node add_port(pugi::xml_node map, const char* kind, std::int64_t external, int internal);

/// Adds the attributes of a sliced or concatenated port: axis, start, end, stride, part_size.
void add_window(pugi::xml_node entry, const Window& window);

/// Appends an edge from the body layer that computes a state to the Parameter that reads it.
void add_back_edge(pugi::xml_node edges, int from_layer, int to_layer);

}  // namespace scanloom::exporters::openvino
