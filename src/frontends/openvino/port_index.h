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
  explicit LayerPorts(const Layer& layer) : inputs_(layer.inputs), outputs_(layer.outputs) {}

  /// The position of a port. Error naming the entry, "port_map input 2".
  [[nodiscard]] Expected<std::size_t> input(const std::string& entry, std::int64_t id) const;
  [[nodiscard]] Expected<std::size_t> output(const std::string& entry, std::int64_t id) const;
  [[nodiscard]] bool has_output(std::int64_t id) const { return outputs_.find(id).has_value(); }

 private:
  PortIndex inputs_, outputs_;
};

}  // namespace scanloom::openvino
