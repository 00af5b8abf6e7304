// What the port maps and back edges of a layer with bodies must say, as far as the document alone
// tells: which ports and layers they name, what for, and how windows are walked. The converters of
// TensorIterator, Loop and If rely on it. Source: TensorIterator-1, Loop-5, If-8.
#pragma once

#include <vector>

#include "frontends/openvino/document.h"

namespace scanloom::openvino {

/// Returns everything that is wrong with the port maps of a layer; nothing for one without bodies.
[[nodiscard]] std::vector<Error> check_port_maps(const Document& document, const Layer& layer);

}  // namespace scanloom::openvino
