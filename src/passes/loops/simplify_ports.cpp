// Removes redundant ports: equal captured, carried, scanned and stacked values become one; a
// carried value that never changes is captured; a captured value that both regions of a branch pass
// on is read directly. It runs before the passes that look into bodies, since work on a captured
// value can be hoisted and work on a carried one cannot.
#include <algorithm>
#include <map>

#include "ir/op_def.h"
#include "ir/walk.h"
#include "passes/pass.h"
#include "passes/rewrite/ports.h"

namespace scanloom::passes {
namespace {

using ir::LoopPorts;
using ir::Module;
using ir::NodeId;
using ir::Region;
using ir::ValueId;

/// One loop or branch. Values are compared as `map` rewrites them, and results are added to `map`.
class Simplifier {
 public:
  Simplifier(Module& module, ir::ValueMap& map, NodeId id) : module_(module), map_(map), id_(id) {}

  Change loop() {
    KeptPorts kept(ports());
    merge_captured(0, kept.captured);
    merge_scanned(kept.scanned);
    const std::vector<std::size_t> invariant = find_invariant(kept.carried);
    merge_carried(kept.carried);
    merge_stacked(kept.stacked);
    if (kept.all()) return {};
    capture(kept, invariant);
    return {.changed = true};
  }

  Change branch(const std::vector<std::uint32_t>& uses) {
    std::vector<bool> captured(node().inputs.size() - 1, true);
    merge_captured(0, captured);
    if (node().regions.size() == 2) merge_captured(1, captured);
    Change change{.changed = std::ranges::find(captured, false) != captured.end()};
    for (std::size_t i = 0; i < node().outputs.size(); ++i) {
      const ValueId same = handed_on(i);
      if (!same.valid() || uses[node().outputs[i].index] == 0) continue;
      map_.set(node().outputs[i], same);
      change.changed = true;
    }
    if (std::ranges::find(captured, false) != captured.end())
      keep_branch_ports(module_, id_, captured, std::vector<bool>(node().outputs.size(), true));
    return change;
  }

 private:
  [[nodiscard]] const ir::Node& node() const { return module_.node(id_); }
  [[nodiscard]] const LoopPorts& ports() const { return *node().loop; }
  [[nodiscard]] const Region& side(std::size_t i) const {
    return module_.region(node().regions[i]);
  }
  [[nodiscard]] ValueId input(std::size_t i) const { return map_[node().inputs[i]]; }
  [[nodiscard]] ValueId yield(std::size_t i) const { return map_[side(0).yields[i]]; }

  /// The captured values are a branch's last operands; for a loop its ports say where they are.
  void merge_captured(std::size_t region, std::vector<bool>& kept) {
    const std::size_t first = node().loop ? ports().first_captured_input() : 1;
    std::map<ValueId, std::size_t> seen;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const auto [found, is_new] = seen.try_emplace(input(first + i), i);
      if (is_new) continue;
      kept[i] = false;
      map_.set(side(region).args[i], side(region).args[found->second]);
    }
  }

  void merge_scanned(std::vector<bool>& kept) {
    const std::size_t first = ports().first_scanned_input();
    const std::size_t first_arg = ports().captured + ports().carried;
    std::multimap<ValueId, std::size_t> seen;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const auto [begin, end] = seen.equal_range(input(first + i));
      const auto same = std::find_if(begin, end, [&](const auto& entry) {
        return ports().scanned[entry.second] == ports().scanned[i];
      });
      if (same == end) {
        seen.emplace(input(first + i), i);
      } else {
        kept[i] = false;
        map_.set(side(0).args[first_arg + i], side(0).args[first_arg + same->second]);
      }
    }
  }

  [[nodiscard]] ValueId carried_arg(std::size_t i) const {
    return side(0).args[ports().captured + i];
  }

  /// Finds carried values that each step passes on unchanged, and replaces their results by their
  /// initial values. One that is also captured becomes that argument; the others are to be
  /// captured.
  std::vector<std::size_t> find_invariant(std::vector<bool>& kept) {
    std::vector<std::size_t> to_capture;
    std::map<ValueId, ValueId> captured_as;  // arguments, by the outer values
    for (std::size_t i = 0; i < ports().captured; ++i)
      captured_as.try_emplace(input(ports().first_captured_input() + i), side(0).args[i]);
    const std::size_t first_yield = ports().first_carried_yield();
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const ValueId initial = input(ports().first_carried_input() + i);
      const ValueId next = yield(first_yield + i);
      const auto captured = captured_as.find(initial);
      const bool is_captured = captured != captured_as.end();
      if (next != map_[carried_arg(i)] && (!is_captured || next != captured->second)) continue;
      kept[i] = false;
      map_.set(node().outputs[i], initial);
      if (is_captured) {
        map_.set(carried_arg(i), captured->second);
      } else {
        to_capture.push_back(i);
      }
    }
    return to_capture;
  }

  void merge_carried(std::vector<bool>& kept) {
    std::map<std::pair<ValueId, ValueId>, std::size_t> seen;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (!kept[i]) continue;
      const std::pair key{input(ports().first_carried_input() + i),
                          yield(ports().first_carried_yield() + i)};
      const auto [found, is_new] = seen.try_emplace(key, i);
      if (is_new) continue;
      kept[i] = false;
      map_.set(carried_arg(i), carried_arg(found->second));
      map_.set(node().outputs[i], node().outputs[found->second]);
    }
  }

  void merge_stacked(std::vector<bool>& kept) {
    const std::size_t first = ports().first_stacked_yield();
    std::multimap<ValueId, std::size_t> seen;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const auto [begin, end] = seen.equal_range(yield(first + i));
      const auto same = std::find_if(begin, end, [&](const auto& entry) {
        return ports().stacked[entry.second] == ports().stacked[i];
      });
      if (same == end) {
        seen.emplace(yield(first + i), i);
      } else {
        kept[i] = false;
        map_.set(node().outputs[ports().carried + i],
                 node().outputs[ports().carried + same->second]);
      }
    }
  }

  /// Captures the initial values of invariant carried ones and removes the ports that are not kept.
  void capture(KeptPorts kept, const std::vector<std::size_t>& invariant) {
    std::vector<ValueId> outer, old_args;
    for (const std::size_t port : invariant) {
      outer.push_back(input(ports().first_carried_input() + port));
      old_args.push_back(carried_arg(port));
    }
    const std::vector<ValueId> args = add_captured(module_, id_, outer);
    for (std::size_t i = 0; i < args.size(); ++i) map_.set(old_args[i], args[i]);
    kept.captured.resize(ports().captured, true);
    keep_ports(module_, id_, kept);
  }

  /// Returns the outer value that result i of a branch is in both regions.
  [[nodiscard]] ValueId handed_on(std::size_t i) const {
    ValueId outer;
    for (std::size_t s = 0; s < 2; ++s) {
      const Region& region = side(s);
      const ValueId value = map_[region.yields[i]];
      if (module_.value(value).producer.valid()) return {};
      const ValueId here = input(module_.value(value).index + 1);
      if (s == 1 && here != outer) return {};
      outer = here;
    }
    return outer;
  }

  Module& module_;
  ir::ValueMap& map_;
  const NodeId id_;
};

}  // namespace

// Outer bodies first, so that values found equal outside are seen as equal inside.
Expected<Change> simplify_ports(ir::Module& module) {
  Change change;
  ir::ValueMap map(module);
  const std::vector<std::uint32_t> uses = count_uses(module);
  for (const NodeId id : nodes_with_regions(module, Order::outer_first)) {
    Simplifier simplifier(module, map, id);
    change |= module.node(id).op == &ir::loop_op ? simplifier.loop() : simplifier.branch(uses);
  }
  map.apply(module);
  return change;
}

}  // namespace scanloom::passes
