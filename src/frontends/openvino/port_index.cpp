#include "frontends/openvino/port_index.h"

#include <algorithm>
#include <numeric>

namespace scanloom::openvino {
namespace {

constexpr std::size_t kFew = 8;

Expected<std::size_t> position(const PortIndex& ports, const char* kind, const std::string& entry,
                               std::int64_t id) {
  const std::optional<std::size_t> found = ports.find(id);
  if (!found)
    return invalid_model("{}: external_port_id is {}, which is not an {} port of the layer", entry,
                         id, kind);
  return *found;
}

}  // namespace

PortIndex::PortIndex(const std::vector<Port>& ports) : ports_(&ports) {
  if (ports.size() <= kFew) return;
  by_id_.resize(ports.size());
  std::iota(by_id_.begin(), by_id_.end(), 0U);
  std::ranges::stable_sort(by_id_, {}, [&](std::uint32_t i) { return ports[i].id; });
}

std::optional<std::size_t> PortIndex::find(std::int64_t id) const {
  if (by_id_.empty()) {
    const auto found = std::ranges::find(*ports_, id, &Port::id);
    if (found == ports_->end()) return std::nullopt;
    return static_cast<std::size_t>(found - ports_->begin());
  }
  const auto id_of = [&](std::uint32_t i) { return (*ports_)[i].id; };
  const auto found = std::ranges::lower_bound(by_id_, id, {}, id_of);
  if (found == by_id_.end() || id_of(*found) != id) return std::nullopt;
  return *found;
}

Expected<std::size_t> LayerPorts::input(const std::string& entry, std::int64_t id) const {
  return position(inputs_, "input", entry, id);
}

Expected<std::size_t> LayerPorts::output(const std::string& entry, std::int64_t id) const {
  return position(outputs_, "output", entry, id);
}

bool LayerPorts::are_outputs(const BodyPart& part) const {
  return std::ranges::all_of(part.outputs, [&](const PortEntry& port) {
    return outputs_.find(port.external_port).has_value();
  });
}

Expected<std::size_t> LayerPorts::output_of_part(bool are_outputs, const std::string& entry,
                                                 std::int64_t id) const {
  if (are_outputs || id < 0 || id >= static_cast<std::int64_t>(output_count_))
    return output(entry, id);
  return static_cast<std::size_t>(id);
}

}  // namespace scanloom::openvino
