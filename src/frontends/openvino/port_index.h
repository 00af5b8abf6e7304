// Where the ports of a layer stand: edges and port_maps name them by id, and a layer may have very
// many.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frontends/openvino/document.h"

namespace scanloom::openvino {

/// Positions by id. It refers to the ports, which must outlive it.
class PortIndex {
 public:
  explicit PortIndex(const std::vector<Port>& ports);
  /// Of the first port of that id; nullopt: there is none.
  [[nodiscard]] std::optional<std::size_t> find(std::int64_t id) const;

 private:
  const std::vector<Port>* ports_;
  std::vector<std::uint32_t>
      by_id_;  ///< positions, sorted by id; empty: a few ports, looked through
};

/// The ports of a layer with bodies, as the entries of its port_maps name them.
class LayerPorts {
 public:
  explicit LayerPorts(const Layer& layer)
      : output_count_(layer.outputs.size()), inputs_(layer.inputs), outputs_(layer.outputs) {}

  /// The position of a port. Error naming the entry, "port_map input 2".
  [[nodiscard]] Expected<std::size_t> input(const std::string& entry, std::int64_t id) const;
  [[nodiscard]] Expected<std::size_t> output(const std::string& entry, std::int64_t id) const;
  /// Whether all outputs that the part of an If names are ports. If not they are counted from 0, as
  /// in the example of the specification.
  [[nodiscard]] bool are_outputs(const BodyPart& part) const;
  /// As output(), for a part of which are_outputs() is as given.
  [[nodiscard]] Expected<std::size_t> output_of_part(bool are_outputs, const std::string& entry,
                                                     std::int64_t id) const;

 private:
  std::size_t output_count_;
  PortIndex inputs_, outputs_;
};

}  // namespace scanloom::openvino
