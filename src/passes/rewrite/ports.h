// Adds and removes ports of loops and captured values of branches, keeping operands, arguments,
// yields and results consistent. Ids of what remains do not change.
#pragma once

#include <span>
#include <vector>

#include "ir/module.h"

namespace scanloom::passes {

/// Which ports of a loop remain; initially all of them.
struct KeptPorts {
  explicit KeptPorts(const ir::LoopPorts& ports)
      : captured(ports.captured, true),
        carried(ports.carried, true),
        scanned(ports.scanned.size(), true),
        stacked(ports.stacked.size(), true) {}
  [[nodiscard]] bool all() const;

  std::vector<bool> captured, carried, scanned, stacked;
};

/// Removes the other ports. Precondition: nothing reads their arguments and results any more.
void keep_ports(ir::Module& module, ir::NodeId loop, const KeptPorts& kept);
/// As keep_ports, for the captured values and the results of a branch.
void keep_branch_ports(ir::Module& module, ir::NodeId branch, const std::vector<bool>& captured,
                       const std::vector<bool>& results);

/// Captures further values of the loop's region; returns the body's arguments for them.
std::vector<ir::ValueId> add_captured(ir::Module& module, ir::NodeId loop,
                                      std::span<const ir::ValueId> outer);

/// Scans further tensors; returns the body's arguments for their slices. Precondition: each tensor
/// has the axis of its port. The axis is squeezed from the slices.
std::vector<ir::ValueId> add_scanned(ir::Module& module, ir::NodeId loop,
                                     std::span<const ir::ValueId> outer,
                                     std::span<const ir::ScannedPort> ports);

/// Stacks further values of the body; returns the results, which have the given types.
std::vector<ir::ValueId> add_stacked(ir::Module& module, ir::NodeId loop,
                                     std::span<const ir::ValueId> rows,
                                     std::span<const ir::StackedPort> ports,
                                     std::span<const ir::Type> types);

/// Carries one more value, from `initial` to the body's `next`; returns its final value.
ir::ValueId add_carried(ir::Module& module, ir::NodeId loop, ir::ValueId initial, ir::ValueId next);

/// Order of loop and branch nodes below the top region: each before the ones inside it, or after.
enum class Order { outer_first, inner_first };
std::vector<ir::NodeId> nodes_with_regions(const ir::Module& module, Order order);

}  // namespace scanloom::passes
