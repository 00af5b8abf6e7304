// Finds the ports of a layer. Edges and port_maps name them by id, and a layer may have very many.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frontends/openvino/document.h"

namespace scanloom::openvino {

/// Port positions by id. Refers to the ports, which must outlive it.
class PortIndex {
 public:
  explicit PortIndex(const std::vector<Port>& ports);
  /// Returns the position of the first port with that id; nullopt if there is none.
  [[nodiscard]] std::optional<std::size_t> find(std::int64_t id) const;

 private:
  const std::vector<Port>* ports_;
  std::vector<std::uint32_t>
      by_id_;  ///< positions sorted by id; empty for few ports, which are searched linearly
};

/// The ports of a layer with bodies, as named by the entries of its port_maps.
class LayerPorts {
 public:
  explicit LayerPorts(const Layer& layer)
      : output_count_(layer.outputs.size()), inputs_(layer.inputs), outputs_(layer.outputs) {}

  /// Returns the position of a port. Errors name the entry: "port_map input 2".
  [[nodiscard]] Expected<std::size_t> input(const std::string& entry, std::int64_t id) const;
  [[nodiscard]] Expected<std::size_t> output(const std::string& entry, std::int64_t id) const;
  /// Whether all outputs named by a part of an If are port ids. If not, they are positions counted
  /// from 0, as in the example of the specification.
  [[nodiscard]] bool are_outputs(const BodyPart& part) const;
  /// Like output(), for a part with the given are_outputs().
  [[nodiscard]] Expected<std::size_t> output_of_part(bool are_outputs, const std::string& entry,
                                                     std::int64_t id) const;

 private:
  std::size_t output_count_;
  PortIndex inputs_, outputs_;
};

}  // namespace scanloom::openvino
