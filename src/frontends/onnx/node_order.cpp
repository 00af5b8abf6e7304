#include "frontends/onnx/node_order.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>

namespace scanloom::onnx {
namespace {

constexpr std::uint32_t kNone = 0xffffffffu;

/// For each node, the nodes it depends on.
class Dependencies {
 public:
  Dependencies(const GraphFacts& facts, const NodeNames& captures) : needs_(facts.nodes.size()) {
    std::unordered_map<std::uint32_t, std::uint32_t> maker;
    for (std::uint32_t node = 0; node < facts.nodes.size(); ++node)
      for (const NameId name : facts.nodes[node].outputs)
        if (name.valid()) maker.try_emplace(name.index, node);
    for (std::uint32_t node = 0; node < facts.nodes.size(); ++node) {
      const auto add = [&](const std::vector<NameId>& names) {
        for (const NameId name : names)
          if (const auto found = maker.find(name.index); found != maker.end())
            needs_[node].push_back(found->second);
      };
      add(facts.nodes[node].inputs);
      const auto other = captures.find(node);
      add(other == captures.end() ? facts.nodes[node].captures : other->second);
      std::sort(needs_[node].begin(), needs_[node].end());
      needs_[node].erase(std::unique(needs_[node].begin(), needs_[node].end()), needs_[node].end());
    }
  }

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(needs_.size()); }
  [[nodiscard]] const std::vector<std::uint32_t>& of(std::uint32_t node) const {
    return needs_[node];
  }
  [[nodiscard]] bool in_order() const {
    for (std::uint32_t node = 0; node < size(); ++node)
      if (!needs_[node].empty() && needs_[node].back() >= node) return false;
    return true;
  }

 private:
  std::vector<std::vector<std::uint32_t>> needs_;
};

/// Walks from node to dependency until a node repeats.
std::vector<std::uint32_t> find_cycle(const Dependencies& needs, const std::vector<bool>& placed) {
  std::uint32_t node = 0;
  while (placed[node]) ++node;
  std::vector<std::uint32_t> path;
  std::vector<std::uint32_t> position(needs.size(), kNone);
  while (position[node] == kNone) {
    position[node] = static_cast<std::uint32_t>(path.size());
    path.push_back(node);
    for (const std::uint32_t next : needs.of(node))
      if (!placed[next]) {
        node = next;
        break;
      }
  }
  path.erase(path.begin(), path.begin() + position[node]);
  std::reverse(path.begin(), path.end());
  std::rotate(path.begin(), std::min_element(path.begin(), path.end()), path.end());
  return path;
}

}  // namespace

NodeOrder order_nodes(const GraphFacts& facts, const NodeNames& captures) {
  const Dependencies needs(facts, captures);
  NodeOrder order;
  if (needs.in_order()) {
    order.nodes.resize(needs.size());
    std::iota(order.nodes.begin(), order.nodes.end(), 0u);
    return order;
  }
  std::vector<std::vector<std::uint32_t>> users(needs.size());
  std::vector<std::size_t> missing(needs.size());
  // Taking the smallest index first preserves the order of the file as far as possible.
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t node = 0; node < needs.size(); ++node) {
    missing[node] = needs.of(node).size();
    if (missing[node] == 0) ready.push(node);
    for (const std::uint32_t maker : needs.of(node)) users[maker].push_back(node);
  }
  std::vector<bool> placed(needs.size());
  while (!ready.empty()) {
    const std::uint32_t node = ready.top();
    ready.pop();
    placed[node] = true;
    order.nodes.push_back(node);
    for (const std::uint32_t user : users[node])
      if (--missing[user] == 0) ready.push(user);
  }
  if (order.nodes.size() < needs.size()) order.cycle = find_cycle(needs, placed);
  return order;
}

}  // namespace scanloom::onnx
