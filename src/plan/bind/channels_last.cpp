#include "plan/bind/channels_last.h"

#include <algorithm>
#include <map>
#include <utility>

#include "kernels/conv_planes.h"
#include "kernels/pool_layout.h"
#include "opmath/reduction.h"
#include "ops/ops.h"
#include "plan/bind/context.h"

namespace scanloom::plan {
namespace {

using ir::Node;
using ir::NodeId;
using ir::ValueId;
using kernels::ChannelsLast;
using tensor::Shape;

class ChannelsLastFinder {
 public:
  explicit ChannelsLastFinder(const BindContext& ctx)
      : ctx_(ctx), nodes_(ctx.module.region(ctx.module.top()).nodes) {
    found_.resize(ctx.module.value_count());
    readers_.resize(ctx.module.value_count());
  }

  /// Begins with all values that may be stored so, and drops those with a producer or a reader that
  /// cannot keep the layout, until there are none.
  std::vector<bool> find() {
    for (const NodeId id : nodes_)
      for (const ValueId input : node(id).inputs)
        if (input.valid()) readers_[input.index].push_back(id);
    std::vector<ValueId> left;
    for (const NodeId id : nodes_)
      if (may_begin(id)) left.push_back(node(id).outputs[0]);
    for (const ValueId value : left) found_[value.index] = true;
    for (const ValueId value : ctx_.module.region(ctx_.module.top()).yields)
      found_[value.index] = false;
    while (!left.empty()) {
      const ValueId value = left.back();
      left.pop_back();
      if (!is_found(value) || keeps(value)) continue;
      found_[value.index] = false;
      add_neighbours(value, left);
    }
    return std::move(found_);
  }

 private:
  [[nodiscard]] const Node& node(NodeId id) const { return ctx_.module.node(id); }
  [[nodiscard]] Shape shape(ValueId value) const { return ctx_.values.type(value).shape(); }
  [[nodiscard]] bool is_found(ValueId value) const { return found_[value.index]; }

  /// The nodes that are computed together with this one.
  [[nodiscard]] std::vector<NodeId> call_of(NodeId id) const {
    const FusedGroup* const group = ctx_.fusion.group_of(id);
    return group != nullptr ? group->nodes : std::vector<NodeId>{id};
  }

  /// The convolution that the node's call begins with, or an invalid id.
  [[nodiscard]] NodeId convolution_of(NodeId id) const {
    const FusedGroup* const group = ctx_.fusion.group_of(id);
    if (group != nullptr) return group->convolution;
    return node(id).op == &ops::conv_op ? id : NodeId{};
  }

  [[nodiscard]] bool may_begin(NodeId id) {
    const Node& made = node(id);
    if (ctx_.inference.makes_constants(made) || ctx_.is_bound_with_loop[id.index]) return false;
    const ValueId value = made.outputs[0];
    if (ctx_.values.is_object(value) || !ctx_.values.is_static(value)) return false;
    if (ctx_.values.wanted(value) || readers_[value.index].empty()) return false;
    const std::vector<NodeId> call = call_of(id);
    if (call.back() != id) return false;
    if (made.op == &ops::concat_op) return merges_channels(made);
    if (is_pool(made)) return pools(made);
    const NodeId convolution = convolution_of(id);
    return convolution.valid() && kernels::may_store_last(takes(convolution)) &&
           is_only_result(call);
  }

  /// Whether only the last node of the call has a result that others read.
  [[nodiscard]] bool is_only_result(const std::vector<NodeId>& call) const {
    return std::ranges::all_of(call, [&](NodeId id) {
      const std::vector<NodeId>& readers = readers_[node(id).outputs[0].index];
      return id == call.back() || std::ranges::all_of(readers, [&](NodeId reader) {
               return std::ranges::find(call, reader) != call.end();
             });
    });
  }

  [[nodiscard]] static bool is_pool(const Node& made) {
    return made.op == &ops::max_pool_op || made.op == &ops::average_pool_op;
  }

  [[nodiscard]] bool pools(const Node& pool) const {
    const tensor::Type& type = ctx_.values.type(pool.inputs[0]);
    if (pool.outputs.size() == 2 && ctx_.values.uses(pool.outputs[1]) != 0) return false;
    return type.is_static() &&
           kernels::pool_takes_channels_last(type.shape(), type.dtype, pool.attrs);
  }

  /// Whether one position is left, so that both layouts are the same.
  [[nodiscard]] bool is_pooled_to_one(const Node& pool) const {
    const Shape dims = shape(pool.outputs[0]);
    return dims.elements() == dims[0] * dims[1];
  }

  /// Whether the node reduces all positions of each channel: adjacent channels then, in vectors.
  [[nodiscard]] bool reduces_positions(NodeId id) const {
    const tensor::Attr& axes = node(id).attrs[tensor::kReduceAxes];
    if (ctx_.fusion.group_of(id) != nullptr || !axes.present()) return false;
    const int rank = ctx_.values.type(node(id).inputs[0]).rank();
    bool positions = rank >= 3;
    for (int axis = 0; axis < rank; ++axis)
      positions &= tensor::is_reduced(axes, axis, rank) == (axis >= 2);
    return positions;
  }

  [[nodiscard]] bool merges_channels(const Node& concat) const {
    const int rank = ctx_.values.type(concat.outputs[0]).rank();
    return rank >= 3 && tensor::normalise_axis(concat.attrs[0].integer(), rank) == 1;
  }

  /// Where the convolution takes the layout. Kept, because every reader of a value asks.
  [[nodiscard]] ChannelsLast takes(NodeId id) {
    const auto [at, is_new] = takes_.try_emplace(id.index, ChannelsLast::no);
    if (is_new) at->second = asked(node(id));
    return at->second;
  }

  [[nodiscard]] ChannelsLast asked(const Node& conv) const {
    constexpr ChannelsLast kNo = ChannelsLast::no;
    const ValueId x = conv.inputs[0], w = conv.inputs[1];
    if (ctx_.inference.constant(w) == nullptr || !ctx_.values.is_of_plan(w)) return kNo;
    if (conv.inputs.size() > 2 && conv.inputs[2].valid()) {
      const ValueId bias = conv.inputs[2];
      if (ctx_.inference.constant(bias) != nullptr && !ctx_.values.is_of_plan(bias)) return kNo;
    }
    if (ctx_.values.is_object(x) || !ctx_.values.is_static(x)) return kNo;
    if (ctx_.values.type(x).dtype != ctx_.values.type(w).dtype) return kNo;
    const Shape x_dims = shape(x), w_dims = shape(w);
    const Layout x_layout{.dims = x_dims, .strides = tensor::contiguous_strides(x_dims)};
    const Layout w_layout{.dims = w_dims, .strides = tensor::contiguous_strides(w_dims)};
    return kernels::conv_takes_channels_last(operand_of(x_layout, ctx_.values.type(x).dtype),
                                             operand_of(w_layout, ctx_.values.type(w).dtype),
                                             conv.attrs);
  }

  /// Adds the values whose producers or readers have to do with this value, too.
  void add_neighbours(ValueId value, std::vector<ValueId>& to) const {
    for (const NodeId id : call_of(ctx_.module.value(value).producer))
      for (const ValueId input : node(id).inputs)
        if (input.valid() && is_found(input)) to.push_back(input);
    for (const NodeId reader : readers_[value.index]) {
      const ValueId result = node(call_of(reader).back()).outputs[0];
      if (is_found(result)) to.push_back(result);
    }
  }

  [[nodiscard]] bool keeps(ValueId value) {
    const NodeId producer = ctx_.module.value(value).producer;
    const std::vector<NodeId> call = call_of(producer);
    if (node(producer).op == &ops::concat_op || is_pool(node(producer))) {
      if (!std::ranges::all_of(node(producer).inputs, [&](ValueId v) { return is_found(v); }))
        return false;
    } else if (!keeps_operands(call) || !has_its_input(convolution_of(producer))) {
      return false;
    }
    return std::ranges::all_of(readers_[value.index], [&](NodeId reader) {
      return std::ranges::find(call, reader) != call.end() || reads(reader, value);
    });
  }

  /// Whether the convolution's input has the layout, if its result may have it only then.
  [[nodiscard]] bool has_its_input(NodeId convolution) {
    return takes(convolution) == ChannelsLast::either || is_found(node(convolution).inputs[0]);
  }

  /// Whether what follows the convolution reads values of the same layout, single elements, or
  /// constants with an element per channel.
  [[nodiscard]] bool keeps_operands(const std::vector<NodeId>& call) const {
    const Shape dims = shape(node(call.back()).outputs[0]);
    return std::ranges::all_of(call, [&](NodeId id) {
      if (node(id).op == &ops::conv_op) return true;
      return std::ranges::all_of(node(id).inputs, [&](ValueId input) {
        if (!input.valid() || (is_found(input) && shape(input) == dims)) return true;
        const bool inside = std::ranges::any_of(
            call, [&](NodeId other) { return node(other).outputs[0] == input; });
        return inside || shape(input).elements() == 1 || is_constant_per_channel(input, dims);
      });
    });
  }

  [[nodiscard]] bool is_constant_per_channel(ValueId value, const Shape& dims) const {
    const Shape own = shape(value);
    const int channels = own.rank() - (dims.rank() - 1);
    return ctx_.inference.constant(value) != nullptr && channels >= 0 &&
           own.elements() == dims[1] && own[channels] == dims[1];
  }

  /// Whether the reader takes the value with its channels last.
  [[nodiscard]] bool reads(NodeId reader, ValueId value) {
    const Node& to = node(reader);
    if (ctx_.is_bound_with_loop[reader.index]) return false;
    if (to.op == &ops::conv_op) {
      if (to.inputs[0] != value || std::ranges::count(to.inputs, value) != 1) return false;
      return kernels::may_read_last(takes(reader)) ||
             (takes(reader) == ChannelsLast::both &&
              is_found(node(call_of(reader).back()).outputs[0]));
    }
    if (is_pool(to) && pools(to) && !to.outputs.empty() && is_pooled_to_one(to)) return true;
    if (to.op == &ops::reduce_op) return reduces_positions(reader);
    if (to.op != &ops::concat_op && !is_pool(to) && !convolution_of(reader).valid()) return false;
    return is_found(node(call_of(reader).back()).outputs[0]);
  }

  const BindContext& ctx_;
  const std::vector<NodeId>& nodes_;
  std::vector<bool> found_;                      // by ValueId
  std::vector<std::vector<NodeId>> readers_;     // by ValueId: nodes of the top region
  std::map<std::uint32_t, ChannelsLast> takes_;  // by NodeId, of convolutions
};

}  // namespace

std::vector<bool> find_channels_last(const BindContext& ctx) {
  return ChannelsLastFinder(ctx).find();
}

}  // namespace scanloom::plan
