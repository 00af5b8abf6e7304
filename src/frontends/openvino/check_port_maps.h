// Checks the port maps and back edges of a layer with bodies, as far as the document alone allows:
// the ports and layers they name, their purposes, and how windows are walked. The converters of
// TensorIterator, Loop and If rely on it. Source: TensorIterator-1, Loop-5, If-8.
#pragma once

#include <vector>

#include "frontends/openvino/document.h"

namespace scanloom::openvino {

/// Returns all errors in the port maps of a layer; none for a layer without bodies.
[[nodiscard]] std::vector<Error> check_port_maps(const Document& document, const Layer& layer);

}  // namespace scanloom::openvino
