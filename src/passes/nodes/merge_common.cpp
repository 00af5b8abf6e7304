// Merges nodes of a region that compute the same from the same operands; constants are the same if
// their contents are. It runs after canonicalise and folding, which make equal nodes look equal,
// and before hoisting, which then moves each once.
#include <algorithm>
#include <map>

#include "ir/op_def.h"
#include "ir/walk.h"
#include "passes/pass.h"

namespace scanloom::passes {
namespace {

using ir::Module;
using ir::Node;
using ir::NodeId;

// Values with equal hashes are compared in full; this bounds the cost of a malicious model.
constexpr int kMaxCompared = 16;
constexpr std::size_t kHashedBytes = 256;

void mix(std::size_t& hash, std::size_t value) {
  hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
}

std::size_t hash_of(const tensor::Tensor& tensor) {
  std::size_t hash = static_cast<std::size_t>(tensor.dtype());
  for (const std::int64_t dim : tensor.shape()) mix(hash, static_cast<std::size_t>(dim));
  // The bytes of strings are pointers, which say nothing about the contents.
  if (tensor.dtype() == DType::string) return hash;
  const std::string_view bytes(static_cast<const char*>(tensor.stored()), tensor.bytes());
  mix(hash, std::hash<std::string_view>{}(bytes.substr(0, kHashedBytes)));
  if (bytes.size() > kHashedBytes)
    mix(hash, std::hash<std::string_view>{}(bytes.substr(bytes.size() - kHashedBytes)));
  return hash;
}

std::size_t hash_of(const ir::Attr& attr) {
  auto hash = static_cast<std::size_t>(attr.kind());
  switch (attr.kind()) {
    case tensor::AttrKind::none:
      break;
    case tensor::AttrKind::integer:
      mix(hash, static_cast<std::size_t>(attr.integer()));
      break;
    case tensor::AttrKind::text:
      mix(hash, std::hash<std::string>{}(attr.text()));
      break;
    case tensor::AttrKind::integers:
      for (const std::int64_t value : attr.integers()) mix(hash, static_cast<std::size_t>(value));
      break;
    case tensor::AttrKind::tensor:
      mix(hash, hash_of(attr.tensor()));
      break;
    case tensor::AttrKind::dtype:
      mix(hash, static_cast<std::size_t>(attr.dtype()));
      break;
    case tensor::AttrKind::real:  // compared by their bits; few nodes differ in them alone
    case tensor::AttrKind::floats:
      break;
  }
  return hash;
}

std::size_t hash_of(const Node& node) {
  std::size_t hash = std::hash<std::string_view>{}(node.op->name);
  for (const ir::ValueId input : node.inputs) mix(hash, input.index);
  for (const ir::Attr& attr : node.attrs) mix(hash, hash_of(attr));
  return hash;
}

bool can_merge(const Node& node) {
  return node.regions.empty() &&
         (node.op->effects == ir::Effects::pure || node.op->effects == ir::Effects::may_fail);
}

bool same(const Node& a, const Node& b) {
  return a.op == b.op && a.inputs == b.inputs && a.outputs.size() == b.outputs.size() &&
         a.attrs == b.attrs;
}

/// The first nodes of one region, by their hash.
class Seen {
 public:
  explicit Seen(const Module& module) : module_(module) {}

  /// Returns an equal node seen before; otherwise none, and remembers this one.
  NodeId find_or_add(NodeId id) {
    const std::size_t hash = hash_of(module_.node(id));
    const auto [begin, end] = nodes_.equal_range(hash);
    int compared = 0;
    for (auto entry = begin; entry != end && compared < kMaxCompared; ++entry, ++compared)
      if (same(module_.node(entry->second), module_.node(id))) return entry->second;
    nodes_.emplace(hash, id);
    return {};
  }

 private:
  const Module& module_;
  std::multimap<std::size_t, NodeId> nodes_;
};

/// Replaces `id` by `kept`, which also takes on its source location in the user's model.
void merge(Module& module, NodeId kept, NodeId id, ir::ValueMap& map) {
  constexpr std::size_t kMaxNames = 4;
  Node& first = module.node(kept);
  const Node& second = module.node(id);
  for (std::size_t i = 0; i < second.outputs.size(); ++i)
    map.set(second.outputs[i], first.outputs[i]);
  const bool named =
      first.location.valid() && module.location(first.location).nodes.size() >= kMaxNames;
  if (!named && first.op != &ir::constant_op)
    first.location = module.merge_locations(first.location, second.location);
}

Change merge_in(Module& module, ir::RegionId region, ir::ValueMap& map) {
  Change change;
  Seen seen(module);
  std::erase_if(module.region(region).nodes, [&](NodeId id) {
    map.apply(module.node(id).inputs);
    if (!can_merge(module.node(id))) return false;
    const NodeId kept = seen.find_or_add(id);
    if (!kept.valid()) return false;
    merge(module, kept, id, map);
    change.changed = true;
    return true;
  });
  map.apply(module.region(region).yields);
  return change;
}

}  // namespace

Expected<Change> merge_common(ir::Module& module) {
  Change change;
  ir::ValueMap map(module);
  for (const ir::RegionId region : regions_outer_first(module, module.top()))
    change |= merge_in(module, region, map);
  return change;
}

}  // namespace scanloom::passes
