#include "passes/analysis/body_parts.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/register_limits.h"
#include "opmath/reduction.h"
#include "ops/element_program.h"
#include "ops/ops.h"
#include "passes/analysis/row_reads.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Dim;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::Type;
using ir::ValueId;
using Splits = std::map<ValueId, Split>;

/// The maximum number of parts along an axis.
constexpr std::int64_t kMaxParts = 32;
/// The maximum number of states, so that one function holds them on every machine.
constexpr auto kMaxStates = static_cast<std::int64_t>(kMaxStatesPerRegister * kMinVectorRegisters);
/// Longer axes are skipped.
constexpr std::int64_t kMaxRows = std::int64_t{1} << 16;
/// The maximum number of added nodes for each removed node that moves elements.
constexpr std::int64_t kNodesPerMove = 4;
constexpr std::int64_t kMaxBodyNodes = 512;

bool is_elementwise(const Node& node) {
  return node.op->access == ir::Access::pointwise && node.op->scalar != nullptr;
}

bool moves_elements(const Node& node) {
  return node.op == &ops::slice_op || node.op == &ops::gather_op || node.op == &ops::concat_op ||
         node.op == &ops::reduce_op;
}

bool keeps_elements(const Node& node) {
  return node.op == &ops::reshape_op || node.op == &ops::squeeze_op ||
         node.op == &ops::unsqueeze_op || node.op == &ops::identity_op;
}

/// Returns the axis that the attribute names, counted from the end; nullopt if there is no such
/// axis.
std::optional<int> axis_from_end(const Node& node, const Type& type) {
  if (!type.ranked) return std::nullopt;
  const auto axis = tensor::normalise_axis(attr_of(node, "axis").integer(), type.rank());
  return axis ? std::optional(static_cast<int>(type.rank() - *axis)) : std::nullopt;
}

/// The values that must be split together, and the size of their parts.
class Group {
 public:
  Group(const Module& module, NodeId loop, const std::map<ValueId, std::vector<NodeId>>& readers)
      : module_(module),
        loop_(module.node(loop)),
        body_(module.region(loop_.regions[0])),
        readers_(readers) {}

  /// Adds all values that follow from the node, which moves elements of the value along the axis.
  /// Returns false if something that reads or makes one of them cannot work part by part.
  bool grow(NodeId seed, ValueId value, int from_end) {
    from_end_ = from_end;
    part_ = size_of(value).value_or(1);
    if (part_ == 1) return false;
    do {
      found_.clear(), pending_.clear();
      smaller_ = false;
      if (!touch(module_.node(seed))) return false;
      while (!smaller_ && !pending_.empty()) {
        const ValueId next = pending_.back();
        pending_.pop_back();
        if (!visit(next)) return false;
      }
    } while (smaller_);
    return true;
  }

  /// Returns how each value is split.
  [[nodiscard]] Splits splits() const {
    Splits splits;
    for (const ValueId value : found_) splits[value] = {from_end_, part_, *size_of(value) / part_};
    return splits;
  }

 private:
  /// Returns the size of the axis; nullopt if there is no such axis, or a size is not a number.
  [[nodiscard]] std::optional<std::int64_t> size_of(ValueId value) const {
    const Type& type = module_.value(value).type;
    if (!type.is_tensor() || !type.is_static() || type.rank() < from_end_) return std::nullopt;
    return type.dims[static_cast<std::size_t>(type.rank() - from_end_)].value();
  }

  void cut_at(std::int64_t element) {
    const std::int64_t part = std::gcd(part_, element);
    smaller_ |= part != part_;
    part_ = part;
  }

  bool join(ValueId value) {
    const auto size = size_of(value);
    if (!size || *size == 0 || module_.value(value).type.dtype == DType::string) return false;
    cut_at(*size);
    if (*size / part_ > kMaxParts) return false;
    if (*size > part_ && found_.insert(value).second) pending_.push_back(value);
    return true;
  }

  bool visit(ValueId value) {
    const NodeId producer = module_.value(value).producer;
    if (producer.valid() ? !touch(module_.node(producer)) : !visit_argument(value)) return false;
    if (const auto readers = readers_.find(value); readers != readers_.end())
      for (const NodeId reader : readers->second)
        if (!touch(module_.node(reader))) return false;
    return visit_yields(value);
  }

  bool visit_argument(ValueId value) {
    const ir::LoopPorts& ports = *loop_.loop;
    const std::uint32_t index = module_.value(value).index;
    if (index < ports.captured) return true;
    const std::uint32_t carried = index - ports.captured;
    if (carried >= ports.carried) {
      const ir::ScannedPort& port = ports.scanned[carried - ports.carried];
      return port.squeeze && port.part == 1;
    }
    return join_state(carried);
  }

  /// Only if the sizes are the same from the initial value on.
  bool join_state(std::uint32_t carried) {
    const ir::LoopPorts& ports = *loop_.loop;
    const ValueId argument = body_.args[ports.captured + carried];
    const ValueId next = body_.yields[ports.first_carried_yield() + carried];
    const ValueId initial = loop_.inputs[ports.first_carried_input() + carried];
    const Type& type = module_.value(argument).type;
    return type.is_static() && module_.value(next).type == type &&
           module_.value(initial).type == type && join(argument) && join(next);
  }

  bool visit_yields(ValueId value) {
    const ir::LoopPorts& ports = *loop_.loop;
    for (std::uint32_t i = 0; i < body_.yields.size(); ++i) {
      if (body_.yields[i] != value) continue;
      if (i < ports.first_carried_yield()) return false;
      if (i < ports.first_stacked_yield()) {
        if (!join_state(i - ports.first_carried_yield())) return false;
      } else if (!ports.stacked[i - ports.first_stacked_yield()].insert) {
        return false;
      }
    }
    return true;
  }

  /// Visits a node that reads or makes one of the values, and adds the others of its values that
  /// follow.
  bool touch(const Node& node) {
    if (node.op == &ir::constant_op) return true;
    if (is_elementwise(node)) return touch_elementwise(node);
    if (node.op == &ops::concat_op) return touch_concat(node);
    if (node.op == &ops::reduce_op) return touch_reduction(node);
    const auto rows = rows_taken(module_, node, from_end_);
    if (!rows || rows->empty() || !join(node.inputs[0])) return false;
    // The rows of each part of the result must be the rows of one part of the operand.
    for (std::size_t i = 0; i < rows->size(); ++i)
      if (i == 0 || (*rows)[i] != (*rows)[i - 1] + 1)
        cut_at((*rows)[i]), cut_at(static_cast<std::int64_t>(i));
    cut_at(static_cast<std::int64_t>(rows->size()));
    return rows->size() == 1 || join(node.outputs[0]);
  }

  bool touch_elementwise(const Node& node) {
    const auto size = size_of(node.outputs[0]);
    if (!size) return false;
    for (const ValueId input : node.inputs) {
      if (!input.valid()) continue;
      const Type& type = module_.value(input).type;
      if (!type.is_tensor() || !type.is_static()) return false;
      const auto own = size_of(input);
      if (own && *own == *size && !join(input)) return false;
    }
    return join(node.outputs[0]);
  }

  bool touch_concat(const Node& node) {
    if (axis_from_end(node, module_.value(node.outputs[0]).type) != from_end_) return false;
    return std::ranges::all_of(node.inputs, [&](ValueId input) { return join(input); }) &&
           join(node.outputs[0]);
  }

  /// Along the split axis; otherwise only along axes of size 1.
  bool touch_reduction(const Node& node) {
    if (node.inputs.size() > 1 && node.inputs[1].valid()) return false;
    const Type& type = module_.value(node.inputs[0]).type;
    if (!join(node.inputs[0]) || !can_fold(attr_of(node, "kind").text(), type.dtype)) return false;
    const ir::Attr& named = attr_of(node, "axes");
    for (int axis = 0; axis < type.rank(); ++axis) {
      const bool reduced = tensor::is_reduced(named, axis, type.rank());
      const bool is_one = type.dims[static_cast<std::size_t>(axis)] == Dim(1);
      if (axis == type.rank() - from_end_ ? !reduced : reduced && !is_one) return false;
    }
    cut_at(1);
    return true;
  }

  /// Kinds that are a chain of an element-wise operator in the type of the elements.
  static bool can_fold(std::string_view kind, DType dtype) {
    if (dtype != DType::f32 && dtype != DType::f64) return false;
    return kind == "sum" || kind == "max" || kind == "min";
  }

  const Module& module_;
  const Node& loop_;
  const ir::Region& body_;
  const std::map<ValueId, std::vector<NodeId>>& readers_;
  int from_end_ = 1;
  std::int64_t part_ = 1;
  bool smaller_ = false;  ///< parts became smaller, so more values may follow
  std::set<ValueId> found_;
  std::vector<ValueId> pending_;
};

/// All groups of a body.
class Body {
 public:
  Body(const Module& module, NodeId loop)
      : module_(module), loop_(loop), body_(module.region(module.node(loop).regions[0])) {
    for (const NodeId id : body_.nodes)
      for (const ValueId input : module.node(id).inputs)
        if (input.valid()) readers_[input].push_back(id);
  }

  Splits find() {
    if (!may_be_elementwise()) return {};
    for (const NodeId id : body_.nodes)
      if (moves_elements(module_.node(id)) && !add_group(id)) return {};
    if (std::ranges::any_of(body_.nodes, [&](NodeId id) { return is_taken_across(id); })) return {};
    return has_equal_lanes() && pays() ? std::move(splits_) : Splits();
  }

 private:
  [[nodiscard]] bool may_be_elementwise() const {
    bool moves = false;
    for (const NodeId id : body_.nodes) {
      const Node& node = module_.node(id);
      moves |= moves_elements(node);
      if (node.op != &ir::constant_op && !is_elementwise(node) && !keeps_elements(node) &&
          !moves_elements(node))
        return false;
    }
    return moves;
  }

  /// Whether the node drops an axis, so that its result has other axes at the positions of its
  /// operand's, and is split along one.
  [[nodiscard]] bool is_taken_across(NodeId id) const {
    const Node& node = module_.node(id);
    return moves_elements(node) && splits_.contains(node.outputs[0]) &&
           module_.value(node.outputs[0]).type.rank() < module_.value(node.inputs[0]).type.rank();
  }

  /// Adds the group of the values that the node moves, unless it is known.
  bool add_group(NodeId id) {
    const Node& node = module_.node(id);
    const bool joins = node.op == &ops::concat_op;
    const ValueId moved = joins ? node.outputs[0] : node.inputs[0];
    if (splits_.contains(moved)) return true;
    const auto from_end = axis_of(node, module_.value(moved).type);
    if (!from_end) return false;
    Group group(module_, loop_, readers_);
    if (!group.grow(id, moved, *from_end)) return false;
    for (const auto& [value, split] : group.splits())
      if (!splits_.emplace(value, split).second) return false;
    return true;
  }

  [[nodiscard]] std::optional<int> axis_of(const Node& node, const Type& type) const {
    if (!type.is_static()) return std::nullopt;
    if (node.op == &ops::concat_op || node.op == &ops::gather_op) return axis_from_end(node, type);
    for (int from_end = 1; from_end <= type.rank(); ++from_end) {
      const bool is_long = type.dims[static_cast<std::size_t>(type.rank() - from_end)] != Dim(1);
      if (is_long && (node.op == &ops::reduce_op || rows_taken(module_, node, from_end)))
        return from_end;
    }
    return std::nullopt;
  }

  /// Whether each part, and each other value, has one element or as many as there are lanes.
  [[nodiscard]] bool has_equal_lanes() const {
    std::int64_t lanes = 1;
    const auto fits = [&](ValueId value) {
      const NodeId producer = module_.value(value).producer;
      const auto split = splits_.find(value);
      if (producer.valid() && module_.node(producer).op == &ir::constant_op &&
          split == splits_.end())
        return true;
      const Type& type = module_.value(value).type;
      if (!type.is_tensor() || !type.is_static()) return false;
      const std::int64_t parts = split == splits_.end() ? 1 : split->second.count;
      const auto elements = type.shape().checked_elements();
      if (!elements || *elements == 0) return false;
      if (*elements / parts != 1 && lanes == 1) lanes = *elements / parts;
      return *elements / parts == 1 || *elements / parts == lanes;
    };
    const bool equal =
        std::ranges::all_of(body_.args, fits) && std::ranges::all_of(body_.nodes, [&](NodeId id) {
          return std::ranges::all_of(module_.node(id).outputs, fits);
        });
    // A condition is evaluated for one lane.
    return equal && (lanes == 1 || !module_.node(loop_).loop->has_keep_going);
  }

  [[nodiscard]] bool pays() const {
    std::int64_t more = 0, moves = 0, nodes = 0, states = 0;
    for (const NodeId id : body_.nodes) {
      const Node& node = module_.node(id);
      if (node.op == &ir::constant_op) continue;
      const auto split = splits_.find(node.outputs[0]);
      const bool is_split = split != splits_.end() && !moves_elements(node);
      nodes += is_split ? split->second.count : 1;
      more += is_split ? split->second.count - 1 : 0;
      moves += moves_elements(node) ? 1 : 0;
    }
    const ir::LoopPorts& ports = *module_.node(loop_).loop;
    for (std::uint32_t i = 0; i < ports.carried; ++i) {
      const auto split = splits_.find(body_.args[ports.captured + i]);
      states += split == splits_.end() ? 1 : split->second.count;
    }
    return more <= kNodesPerMove * moves && nodes <= kMaxBodyNodes && states <= kMaxStates;
  }

  const Module& module_;
  const NodeId loop_;
  const ir::Region& body_;
  std::map<ValueId, std::vector<NodeId>> readers_;
  Splits splits_;
};

}  // namespace

std::optional<std::vector<std::int64_t>> rows_taken(const Module& module, const Node& node,
                                                    int from_end) {
  if (node.op != &ops::slice_op && node.op != &ops::gather_op) return std::nullopt;
  const Type& type = module.value(node.inputs[0]).type;
  if (!type.is_static() || type.rank() < from_end) return std::nullopt;
  const int axis = type.rank() - from_end;
  const std::int64_t size = type.dims[static_cast<std::size_t>(axis)].value();
  if (size > kMaxRows) return std::nullopt;
  const auto read = row_read(module, node, {node.inputs[0], axis}, {node.inputs[0], axis}, size);
  if (!read) return std::nullopt;
  if (node.op == &ops::gather_op) {
    const tensor::Tensor* const indices = constant_of(module, node.inputs[1]);
    if (indices == nullptr) return std::vector{read->first};  // the last row, read by its number
    auto rows = to_integers(*indices);
    for (std::int64_t& row : *rows) row += row < 0 ? size : 0;
    return rows;
  }
  const Type& taken = module.value(node.outputs[0]).type;
  if (!taken.is_static()) return std::nullopt;
  const std::int64_t count = taken.dims[static_cast<std::size_t>(axis)].value();
  const std::int64_t step = count > 1 ? (read->last - read->first) / (count - 1) : 1;
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < count; ++i)
    rows.push_back(read->backward ? read->last - i * step : read->first + i * step);
  return rows;
}

Splits values_in_parts(const Module& module, NodeId loop) { return Body(module, loop).find(); }

}  // namespace scanloom::passes
