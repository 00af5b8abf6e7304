// Module: a program in SSA form. Values, nodes and regions are in its tables and referred to by
// ids, never by strings. Regions are isolated: a body reads only its own arguments and the results
// of its own nodes. Front-ends build modules, passes rewrite them, the planner reads them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/ids.h"
#include "ir/loop_ports.h"
#include "ir/size_choices.h"
#include "tensor/attr.h"
#include "tensor/type.h"

namespace scanloom::ir {

struct OpDef;
using tensor::Attr;
using tensor::Dim;
using tensor::DimTable;
using tensor::Tensor;
using tensor::Type;

/// The location of a node in the user's model: "node 'gru' (Scan-11)". Fused nodes list several.
struct Location {
  std::vector<std::string> nodes;
  friend bool operator==(const Location&, const Location&) = default;
};

/// An SSA value: a result of `producer`, or, if that is invalid, an argument of `region`.
struct Value {
  Type type;
  NodeId producer;
  RegionId region;
  std::uint32_t index = 0;  ///< among the producer's outputs or the region's arguments
  std::string name;         ///< the user's name, for messages only; may be empty
};

/// inputs may hold invalid ids, for absent optional operands. attrs are in the OpDef's order.
struct Node {
  const OpDef* op = nullptr;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<Attr> attrs;
  std::vector<RegionId> regions;
  RegionId parent;
  LocationId location;
  std::optional<LoopPorts> loop;  ///< for the loop node only
};

/// A list of nodes without jumps, in which every value is defined before it is used.
struct Region {
  std::vector<ValueId> args;
  std::vector<NodeId> nodes;
  std::vector<ValueId> yields;
  NodeId owner;      ///< invalid: the module's top region
  std::string name;  ///< the user's name for the graph, for messages only
};

/// A value kept between runs: argument `input` of the top region reads it, yield `output` sets it.
struct State {
  std::string name;
  std::uint32_t input = 0;
  std::uint32_t output = 0;
  Tensor initial;  ///< undefined: zeros of the input's type
  /// Whether its argument and yield are hidden from the model's inputs and outputs.
  bool is_hidden = false;
  /// The argument that says whether to use the kept value or the initial one.
  std::optional<std::uint32_t> is_kept = std::nullopt;
};

class Module {
 public:
  Module();

  [[nodiscard]] RegionId top() const { return RegionId(0u); }
  [[nodiscard]] const Value& value(ValueId id) const { return values_[id.index]; }
  [[nodiscard]] const Node& node(NodeId id) const { return nodes_[id.index]; }
  [[nodiscard]] const Region& region(RegionId id) const { return regions_[id.index]; }
  [[nodiscard]] const Location& location(LocationId id) const { return locations_[id.index]; }
  Value& value(ValueId id) { return values_[id.index]; }
  Node& node(NodeId id) { return nodes_[id.index]; }
  Region& region(RegionId id) { return regions_[id.index]; }
  [[nodiscard]] std::size_t value_count() const { return values_.size(); }
  [[nodiscard]] std::size_t node_count() const { return nodes_.size(); }
  [[nodiscard]] std::size_t region_count() const { return regions_.size(); }
  [[nodiscard]] std::size_t location_count() const { return locations_.size(); }

  RegionId add_region(NodeId owner, std::string name = {});
  ValueId add_argument(RegionId region, Type type, std::string name = {});
  /// Removes the arguments that are not `kept` (one entry per argument), which must be unused;
  /// later ones move up.
  void keep_arguments(RegionId region, const std::vector<bool>& kept);
  /// Adds a node at the end of `parent` with `output_types.size()` results.
  NodeId add_node(RegionId parent, const OpDef& op, std::vector<ValueId> inputs,
                  std::vector<Attr> attrs, std::vector<Type> output_types,
                  LocationId location = {});
  /// Adds a result at the end of a node's outputs.
  ValueId add_output(NodeId node, Type type, std::string name = {});
  LocationId add_location(Location location);
  /// The union of both locations, for a node that replaces two.
  LocationId merge_locations(LocationId a, LocationId b);

  /// "node 'gru' (Scan-11)", or "a <op> node" if the user gave no name.
  [[nodiscard]] std::string describe(NodeId node) const;
  /// The same, but describes an elementwise node without a name by its operands: "add of 'a' and
  /// 'b'".
  [[nodiscard]] std::string describe_call(NodeId node) const;
  /// The location of a failed step of the loop: "in step 3 of node 'a' (Scan-16)".
  [[nodiscard]] std::string describe_step(NodeId loop, std::int64_t step) const;
  /// The user's name of a value in quotes, or "%<id>".
  [[nodiscard]] std::string describe(ValueId value) const;
  /// The user's name in quotes, or the node that produces it: "the result of joining 'a' and 'b'".
  [[nodiscard]] std::string describe_result(ValueId value) const;

  DimTable dims;
  SizeChoices choices;                    ///< of the call that it is prepared for, if any
  std::vector<std::string> output_names;  ///< of the top region's yields
  /// The file's declarations of these outputs, for people only: nothing relies on them. May be
  /// empty.
  std::vector<tensor::Type> declared_outputs;
  std::vector<State> states;
  std::string name;

 private:
  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::vector<Region> regions_;
  std::vector<Location> locations_;
};

}  // namespace scanloom::ir
