// Finds groups of nodes that one call computes. Nodes are visited in execution order; a group is
// open until a node that is not part of it reads one of its values. All values that a group reads
// therefore exist where its last node is, and nothing needs its results before.
#include "plan/bind/fusion.h"

#include <algorithm>

#include "opmath/reduction.h"
#include "ops/ops.h"
#include "plan/bind/context.h"

namespace scanloom::plan {
namespace {

using ir::Node;
using ir::NodeId;
using ir::ValueId;
using tensor::Shape;

/// Bounds the time to find groups and the columns of a call.
constexpr std::size_t kMaxFusedNodes = 64;
constexpr std::size_t kMaxFusedOperands = 48;
/// Longer rows are reduced by themselves: nothing of them would stay in the cache.
constexpr std::int64_t kMaxFusedRow = 64 * 1024;

struct OpenGroup {
  FusedGroup group;
  std::size_t operands = 0;
  bool open = true;
};

class GroupFinder {
 public:
  explicit GroupFinder(const BindContext& ctx)
      : ctx_(ctx), group_of_(ctx.module.value_count()), position_(ctx.module.node_count()) {}

  std::vector<FusedGroup> find() {
    std::uint32_t position = 0;
    for (const NodeId id : ctx_.module.region(ctx_.module.top()).nodes) {
      position_[id.index] = position++;
      visit(id);
    }
    std::vector<FusedGroup> found;
    for (OpenGroup& each : groups_)
      if (each.group.nodes.size() > 1) found.push_back(std::move(each.group));
    return found;
  }

 private:
  static constexpr std::uint32_t kNoGroup = 0;

  /// How a node would take part in a group.
  struct Part {
    Shape dims;             // of the group's element-wise values
    int first_reduced = 0;  // as in FusedGroup; of a node that reduces
    bool reduces = false;
  };

  void visit(NodeId id) {
    const Node& node = ctx_.module.node(id);
    if (ctx_.inference.makes_constants(node)) return;
    const std::optional<Part> part = part_of(id, node);
    std::uint32_t joined = kNoGroup;
    for (const ValueId input : node.inputs) {
      if (!input.valid() || group_of_[input.index] == kNoGroup) continue;
      const std::uint32_t group = group_of_[input.index];
      if (group == joined || !at(group).open) continue;
      if (part && joined == kNoGroup && may_join(at(group), *part, node))
        joined = group;
      else if (part && joined != kNoGroup && may_merge(at(joined), at(group)) &&
               may_join(at(group), *part, node))
        merge(joined, group);
      else
        at(group).open = false;
    }
    if (part)
      add(joined != kNoGroup ? joined : open_group(part->dims), id, node, *part);
    else if (convolves(id, node))
      open_with_convolution(id, node);
  }

  std::uint32_t open_group(const Shape& dims) {
    groups_.push_back({.group = {.nodes = {}, .dims = dims, .first_reduced = dims.rank()}});
    return static_cast<std::uint32_t>(groups_.size());
  }

  void open_with_convolution(NodeId id, const Node& node) {
    const Shape dims = ctx_.values.type(node.outputs[0]).shape();
    const std::uint32_t group = open_group(dims);
    at(group).group.convolution = id;
    add(group, id, node, {dims, dims.rank(), false});
  }

  OpenGroup& at(std::uint32_t group) { return groups_[group - 1]; }

  void add(std::uint32_t group, NodeId id, const Node& node, const Part& part) {
    OpenGroup& to = at(group);
    to.group.nodes.push_back(id);
    to.operands += node.inputs.size() + 1;
    if (part.reduces) to.group.first_reduced = part.first_reduced;
    group_of_[node.outputs[0].index] = group;
  }

  void merge(std::uint32_t into, std::uint32_t from) {
    FusedGroup& to = at(into).group;
    FusedGroup moved = std::move(at(from).group);
    at(into).operands += at(from).operands;
    at(from) = {.open = false};
    to.nodes.insert(to.nodes.end(), moved.nodes.begin(), moved.nodes.end());
    std::ranges::sort(to.nodes, {}, [this](NodeId id) { return position_[id.index]; });
    to.first_reduced = std::min(to.first_reduced, moved.first_reduced);
    if (moved.convolution.valid()) to.convolution = moved.convolution;
    for (const NodeId id : moved.nodes) group_of_[ctx_.module.node(id).outputs[0].index] = into;
  }

  [[nodiscard]] static bool may_merge(const OpenGroup& a, const OpenGroup& b) {
    const int rank = a.group.dims.rank();
    const bool reduces = a.group.first_reduced < rank || b.group.first_reduced < rank;
    const bool convolves_a = a.group.convolution.valid(), convolves_b = b.group.convolution.valid();
    if ((convolves_a && convolves_b) || (reduces && (convolves_a || convolves_b))) return false;
    return a.group.dims == b.group.dims &&
           a.group.nodes.size() + b.group.nodes.size() < kMaxFusedNodes &&
           a.operands + b.operands < kMaxFusedOperands &&
           (a.group.first_reduced == b.group.first_reduced || a.group.first_reduced == rank ||
            b.group.first_reduced == rank);
  }

  [[nodiscard]] static bool may_join(const OpenGroup& open, const Part& part, const Node& node) {
    const FusedGroup& group = open.group;
    if (group.nodes.size() >= kMaxFusedNodes ||
        open.operands + node.inputs.size() >= kMaxFusedOperands)
      return false;
    if (part.reduces && group.convolution.valid()) return false;
    if (part.reduces)
      return part.dims == group.dims && (group.first_reduced == part.first_reduced ||
                                         group.first_reduced == group.dims.rank());
    return part.dims == group.dims || part.dims == row_dims(group);
  }

  /// Returns the sizes of a group's values with one element per row.
  [[nodiscard]] static Shape row_dims(const FusedGroup& group) {
    Shape dims = group.dims;
    for (int axis = group.first_reduced; axis < dims.rank(); ++axis) dims[axis] = 1;
    return dims;
  }

  /// Whether the node makes one result with elements from operands of known sizes.
  [[nodiscard]] bool is_of_known_tensors(NodeId id, const Node& node) const {
    if (ctx_.is_bound_with_loop[id.index] || node.outputs.size() != 1) return false;
    const auto known = [this](ValueId input) { return !input.valid() || is_known_tensor(input); };
    return is_known_tensor(node.outputs[0]) && std::ranges::all_of(node.inputs, known) &&
           ctx_.values.type(node.outputs[0]).shape().elements() != 0;
  }

  [[nodiscard]] bool convolves(NodeId id, const Node& node) const {
    return node.op == &ops::conv_op && is_of_known_tensors(id, node);
  }

  [[nodiscard]] std::optional<Part> part_of(NodeId id, const Node& node) const {
    if (!is_of_known_tensors(id, node)) return std::nullopt;
    const Shape dims = ctx_.values.type(node.outputs[0]).shape();
    if (node.op->scalar != nullptr || is_quantization(node)) return Part{dims, dims.rank(), false};
    return node.op == &ops::reduce_op ? reduction(node) : std::nullopt;
  }

  /// Between f32 and integers of at most 16 bits, by one scale and zero point.
  [[nodiscard]] bool is_quantization(const Node& node) const {
    const bool quantizes = node.op == &ops::quantize_linear_op;
    if (!quantizes && node.op != &ops::dequantize_linear_op) return false;
    const tensor::Type &from = ctx_.values.type(node.inputs[0]),
                       &to = ctx_.values.type(node.outputs[0]);
    const DType integer = quantizes ? to.dtype : from.dtype;
    const bool is_short = is_integer(integer) && dtype_bytes(integer) <= 2 &&
                          dtype_file_bits(integer) == 8 * static_cast<int>(dtype_bytes(integer));
    if (!is_short || (quantizes ? from : to).dtype != DType::f32 || from.rank() == 0) return false;
    if (ctx_.values.type(node.inputs[1]).dtype != DType::f32) return false;
    for (std::size_t i = 1; i < node.inputs.size(); ++i)
      if (node.inputs[i].valid() && ctx_.values.type(node.inputs[i]).shape().elements() != 1)
        return false;
    return true;
  }

  [[nodiscard]] bool is_known_tensor(ValueId id) const {
    return !ctx_.values.is_object(id) && ctx_.values.is_static(id) &&
           dtype_bytes(ctx_.values.type(id).dtype) <= 8;
  }

  /// Reductions of f32, and sums of i32, over the last axes, which are kept with size 1.
  [[nodiscard]] std::optional<Part> reduction(const Node& node) const {
    const tensor::Type& type = ctx_.values.type(node.inputs[0]);
    const bool known = node.inputs.size() == 1 || !node.inputs[1].valid();
    const auto* const kind = tensor::find_reduction(node.attrs[tensor::kReduceKind].text());
    if (!known || kind == nullptr || node.attrs[tensor::kReduceKeepdims].integer() == 0)
      return std::nullopt;
    using Reduction = tensor::Reduction;
    const bool is_sum =
        kind->fold == Reduction::Fold::sum && kind->finish == Reduction::Finish::none;
    if (type.dtype != DType::f32 && !(type.dtype == DType::i32 && is_sum)) return std::nullopt;
    Part part{type.shape(), type.rank(), true};
    std::int64_t row = 1;
    for (int axis = type.rank(); axis-- > 0;) {
      if (!tensor::is_reduced(node.attrs[tensor::kReduceAxes], axis, type.rank())) break;
      part.first_reduced = axis;
      row *= part.dims[axis];
    }
    for (int axis = 0; axis < part.first_reduced; ++axis)
      if (part.dims[axis] != 1 &&
          tensor::is_reduced(node.attrs[tensor::kReduceAxes], axis, type.rank()))
        return std::nullopt;
    if (row < 2 || row > kMaxFusedRow) return std::nullopt;
    return part;
  }

  const BindContext& ctx_;
  std::vector<OpenGroup> groups_;
  std::vector<std::uint32_t> group_of_;  // by ValueId: 1 + the index of its group
  std::vector<std::uint32_t> position_;  // by NodeId: in the order of execution
};

}  // namespace

Fusion::Fusion(std::vector<FusedGroup> groups, std::size_t node_count)
    : groups_(std::move(groups)), group_of_(node_count) {
  for (std::size_t i = 0; i < groups_.size(); ++i)
    for (const NodeId id : groups_[i].nodes)
      group_of_[id.index] = static_cast<std::uint32_t>(i + 1);
}

Fusion find_fusion(const BindContext& ctx) {
  return {GroupFinder(ctx).find(), ctx.module.node_count()};
}

}  // namespace scanloom::plan
