#include "frontends/openvino/check_port_maps.h"

#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "base/utf8.h"
#include "frontends/openvino/port_index.h"
#include "frontends/openvino/slice_window.h"

namespace scanloom::openvino {
namespace {

constexpr std::string_view kCounter = "current_iteration", kCondition = "execution_condition";

/// Returns the error for a Parameter that two entries name.
Error named_twice(std::string_view first, std::string_view second, std::int64_t parameter) {
  return invalid_model("{} and {} both lead to Parameter {}", first, second, parameter);
}

/// The layers of a body by id.
class BodyLayers {
 public:
  BodyLayers(const Document& document, const BodyPart& part) : role_(part.role) {
    for (const Layer& layer : document.graphs[part.graph].layers) by_id_.emplace(layer.id, &layer);
  }

  /// Error: no layer with that id and type. `entry`: "port_map input 2".
  [[nodiscard]] Expected<void> expect(const std::string& entry, std::int64_t id,
                                      std::string_view type) const {
    const auto found = by_id_.find(id);
    if (found != by_id_.end() && is_type(*found->second, type)) return {};
    return invalid_model("{}: layer {} is not a {} of the {}", entry, id, type, role_);
  }

 private:
  std::string role_;
  std::unordered_map<std::int64_t, const Layer*> by_id_;
};

/// Checks a TensorIterator or Loop.
class LoopCheck {
 public:
  LoopCheck(const Document& document, const Layer& layer, const BodyPart& part)
      : layer_(layer), part_(part), ports_(layer), layers_(document, part) {}

  std::vector<Error> run() {
    for (std::size_t i = 0; i < part_.inputs.size(); ++i)
      check_input(part_.inputs[i], fmt::format("port_map input {}", i));
    for (std::size_t i = 0; i < part_.outputs.size(); ++i)
      check_output(part_.outputs[i], fmt::format("port_map output {}", i));
    for (const Port& port : layer_.outputs)
      if (!entry_of_output_.contains(port.id))
        errors_.push_back(invalid_model("port_map has no entry for output port {}", port.id));
    for (const BackEdge& edge : layer_.back_edges) check_back_edge(edge);
    return std::move(errors_);
  }

 private:
  template <class T>
  bool keep(Expected<T> checked) {
    if (!checked) errors_.push_back(std::move(checked).error());
    return checked.has_value();
  }

  /// Returns whether an entry states its purpose, which it must if it has no port of the layer.
  bool check_purpose(const PortEntry& port, const std::string& entry, std::string_view only,
                     const char* kind) {
    if (port.purpose == only) return true;
    if (port.purpose.empty() && port.external_port >= 0) return true;
    errors_.push_back(
        port.purpose.empty()
            ? invalid_model("{}: external_port_id is {} without a purpose, but {} is the one of {}",
                            entry, port.external_port, only, kind)
            : invalid_model("{}: purpose is '{}', but {} is the one of {}", entry,
                            shortened(to_valid_utf8(port.purpose), 40), only, kind));
    return false;
  }

  void check_input(const PortEntry& port, const std::string& entry) {
    keep(layers_.expect(entry, port.internal_layer, "Parameter"));
    std::string name = entry;
    if (port.external_port < 0) {
      if (!check_purpose(port, entry, kCounter, "inputs")) return;
      name = kCounter;
    } else {
      keep(ports_.input(entry, port.external_port));
      if (port.axis) {
        sliced_.insert(port.internal_layer);
        if (Expected<void> numbers = check_numbers(port); !numbers)
          errors_.push_back(std::move(numbers).error().at(entry));
      }
    }
    const auto [found, is_new] =
        entry_of_parameter_.emplace(port.internal_layer, Entry{name, &port});
    if (is_new) return;
    // The counter is named first, whichever comes first in the file.
    const bool swaps = port.external_port < 0;
    errors_.push_back(named_twice(swaps ? name : found->second.name,
                                  swaps ? found->second.name : name, port.internal_layer));
  }

  void check_output(const PortEntry& port, const std::string& entry) {
    keep(layers_.expect(entry, port.internal_layer, "Result"));
    const bool has_purpose = check_purpose(port, entry, kCondition, "outputs");
    if (has_purpose && port.purpose == kCondition) {
      if (condition_ != nullptr)
        errors_.push_back(invalid_model("layers {} and {} are both the condition",
                                        condition_->internal_layer, port.internal_layer));
      condition_ = &port;
    }
    if (port.external_port < 0) return;
    if (!keep(ports_.output(entry, port.external_port))) return;
    if (!entry_of_output_.insert(port.external_port).second)
      errors_.push_back(
          invalid_model("{}: output port {} has an entry already", entry, port.external_port));
    if (!port.axis) return;
    if (port.stride == 0) errors_.push_back(invalid_model("{}: stride is 0", entry));
    if (port.part_size < 1)
      errors_.push_back(
          invalid_model("{}: part_size is {}, but must be at least 1", entry, port.part_size));
  }

  void check_back_edge(const BackEdge& edge) {
    keep(layers_.expect("a back edge", edge.from_layer, "Result"));
    if (const auto [found, is_new] = edge_to_.emplace(edge.to_layer, edge.from_layer); !is_new) {
      errors_.push_back(invalid_model("back edges from layers {} and {} both lead to Parameter {}",
                                      found->second, edge.from_layer, edge.to_layer));
      return;
    }
    const auto input = entry_of_parameter_.find(edge.to_layer);
    if (input == entry_of_parameter_.end() || input->second.port->external_port < 0) {
      errors_.push_back(invalid_model(
          "a back edge leads to layer {}, but port_map has no entry for its first value",
          edge.to_layer));
    } else if (sliced_.contains(edge.to_layer)) {
      errors_.push_back(invalid_model(
          "{} slices input port {} for Parameter {}, which also has the back edge from layer {}",
          input->second.name, input->second.port->external_port, edge.to_layer, edge.from_layer));
    }
  }

  struct Entry {
    std::string name;
    const PortEntry* port = nullptr;
  };

  const Layer& layer_;
  const BodyPart& part_;
  LayerPorts ports_;
  BodyLayers layers_;
  std::vector<Error> errors_;
  std::map<std::int64_t, Entry> entry_of_parameter_;
  std::map<std::int64_t, std::int64_t> edge_to_;  // by Parameter: its Result
  std::set<std::int64_t> sliced_;                 // Parameters
  std::set<std::int64_t> entry_of_output_;        // ports of the layer
  const PortEntry* condition_ = nullptr;
};

void check_side(const Document& document, const Layer& layer, const BodyPart& part,
                std::vector<Error>& errors) {
  const LayerPorts ports(layer);
  const BodyLayers layers(document, part);
  const auto keep = [&](auto checked) {
    if (!checked) errors.push_back(std::move(checked).error());
  };
  std::map<std::int64_t, std::size_t> seen;
  for (std::size_t i = 0; i < part.inputs.size(); ++i) {
    const PortEntry& port = part.inputs[i];
    const std::string entry = fmt::format("{} input {}", part.role, i);
    keep(ports.input(entry, port.external_port));
    keep(layers.expect(entry, port.internal_layer, "Parameter"));
    if (const auto [found, is_new] = seen.emplace(port.internal_layer, i); !is_new)
      errors.push_back(invalid_model("{} inputs {} and {} both lead to Parameter {}", part.role,
                                     found->second, i, port.internal_layer));
  }
  std::set<std::size_t> entered;
  const bool are_outputs = ports.are_outputs(part);
  for (std::size_t i = 0; i < part.outputs.size(); ++i) {
    const PortEntry& port = part.outputs[i];
    const std::string entry = fmt::format("{} output {}", part.role, i);
    keep(layers.expect(entry, port.internal_layer, "Result"));
    const Expected<std::size_t> position =
        ports.output_of_part(are_outputs, entry, port.external_port);
    if (!position)
      errors.push_back(position.error());
    else if (!entered.insert(*position).second)
      errors.push_back(
          invalid_model("{}: output port {} has an entry already", entry, port.external_port));
  }
  for (std::size_t i = 0; i < layer.outputs.size(); ++i)
    if (!entered.contains(i))
      errors.push_back(
          invalid_model("{}: no entry leads to output port {}", part.role, layer.outputs[i].id));
}

const BodyPart* find_part(const Layer& layer, std::string_view role) {
  for (const BodyPart& part : layer.bodies)
    if (part.role == role) return &part;
  return nullptr;
}

}  // namespace

std::vector<Error> check_port_maps(const Document& document, const Layer& layer) {
  std::vector<Error> errors;
  if (is_type(layer, "If")) {
    for (const char* const role : {"then_body", "else_body"}) {
      if (const BodyPart* const part = find_part(layer, role))
        check_side(document, layer, *part, errors);
      else
        errors.push_back(invalid_model("it has no {}", role));
    }
  } else if (is_type(layer, "TensorIterator") || is_type(layer, "Loop")) {
    const BodyPart* const part = find_part(layer, "body");
    if (part == nullptr)
      errors.push_back(invalid_model("it has no body"));
    else
      errors = LoopCheck(document, layer, *part).run();
  }
  return errors;
}

}  // namespace scanloom::openvino
