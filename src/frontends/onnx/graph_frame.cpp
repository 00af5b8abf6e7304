#include "frontends/onnx/graph_frame.h"

#include <algorithm>

namespace scanloom::onnx {

void GraphFrame::show(NameId name) {
  if (!name.valid()) return;
  ++root->visible[name.index];
  shown.push_back(name);
}

void GraphFrame::poison_outputs(const NodeFacts& facts) {
  for (const NameId name : facts.outputs)
    if (name.valid()) scope.bind(name, Binding::poison());
}

void fail_at(const ImportState& state, const GraphFrame& frame, const std::string& location,
             Error error) {
  // The builder's errors already name the location.
  if (!error.text().starts_with(location)) error = std::move(error).at(location);
  error = std::move(error).at("onnx");
  if (!frame.label.empty()) error.note("in " + frame.label);
  state.reading.diagnostics.error(std::move(error));
}

bool is_fed_default(const ImportState& state, const GraphFrame& frame, NameId name) {
  return frame.graph == 0 && name.valid() &&
         std::ranges::find(state.reading.options.fed_defaults, state.reading.names.text(name)) !=
             state.reading.options.fed_defaults.end();
}

}  // namespace scanloom::onnx
