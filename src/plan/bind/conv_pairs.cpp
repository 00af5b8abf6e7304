#include "plan/bind/conv_pairs.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "kernels/conv_pair.h"
#include "ops/ops.h"
#include "plan/bind/ask_kernel.h"
#include "plan/bind/context.h"
#include "plan/bind/fused_call.h"
#include "plan/bind/walk.h"

namespace scanloom::plan {
namespace {

using ir::Node;
using ir::NodeId;
using ir::ValueId;

/// Smaller first results stay in the cache, where storing them costs nothing.
constexpr std::int64_t kMinBytesBetween = 256 * 1024;

class PairFinder {
 public:
  PairFinder(const BindContext& ctx, const std::vector<bool>& channels_last)
      : ctx_(ctx), channels_last_(channels_last), is_paired_(ctx.module.node_count()) {}

  std::vector<BoundPair> find() {
    std::vector<BoundPair> pairs;
    for (const NodeId id : ctx_.module.region(ctx_.module.top()).nodes) {
      std::optional<BoundPair> pair = pair_with_second(id);
      if (!pair) continue;
      for (const FusedGroup* each : {&pair->first, &pair->second})
        for (const NodeId node : each->nodes) is_paired_[node.index] = true;
      pairs.push_back(*std::move(pair));
    }
    return pairs;
  }

 private:
  [[nodiscard]] const Node& node(NodeId id) const { return ctx_.module.node(id); }
  [[nodiscard]] tensor::Shape shape(ValueId value) const { return ctx_.values.type(value).shape(); }

  /// The group of a node, or a convolution alone; with no nodes if it begins with none.
  [[nodiscard]] FusedGroup call_of(NodeId id) const {
    if (const FusedGroup* const group = ctx_.fusion.group_of(id))
      return group->convolution.valid() ? *group : FusedGroup{};
    if (node(id).op != &ops::conv_op || ctx_.inference.makes_constants(node(id))) return {};
    return {.nodes = {id}, .dims = shape(node(id).outputs[0]), .convolution = id};
  }

  [[nodiscard]] bool is_free(const FusedGroup& call) const {
    return !call.nodes.empty() && std::ranges::none_of(call.nodes, [&](NodeId id) {
      return is_paired_[id.index] || ctx_.is_bound_with_loop[id.index];
    });
  }

  /// Whether the weights have as many axes as two spatial ones need, and meet a single channel.
  [[nodiscard]] bool has_single_channels(const Node& conv) const {
    const tensor::Shape w = shape(conv.inputs[1]);
    return w.rank() == 4 && w[1] == 1 && w[0] == shape(conv.inputs[0])[1];
  }
  [[nodiscard]] bool is_pointwise(const Node& conv) const {
    const tensor::Shape w = shape(conv.inputs[1]);
    return w.rank() == 4 && w[2] == 1 && w[3] == 1 && w[1] == shape(conv.inputs[0])[1];
  }

  [[nodiscard]] std::optional<BoundPair> pair_with_second(NodeId id) const {
    if (node(id).op != &ops::conv_op) return std::nullopt;
    const ValueId between = node(id).inputs[0];
    if (!channels_last_[between.index] || ctx_.values.uses(between) != 1) return std::nullopt;
    const NodeId producer = ctx_.module.value(between).producer;
    BoundPair pair{call_of(producer), call_of(id)};
    if (!is_free(pair.first) || !is_free(pair.second)) return std::nullopt;
    const std::int64_t bytes =
        shape(between).elements() *
        static_cast<std::int64_t>(dtype_bytes(ctx_.values.type(between).dtype));
    const bool fits = channels_last_[node(pair.second.nodes.back()).outputs[0].index] &&
                      pair.first.nodes.back() == producer &&
                      is_pointwise(node(pair.first.convolution)) && has_single_channels(node(id));
    if (!fits || bytes < kMinBytesBetween) return std::nullopt;
    return pair;
  }

  const BindContext& ctx_;
  const std::vector<bool>& channels_last_;
  std::vector<bool> is_paired_;  // by NodeId
};

/// Emits one call for both. Returns whether the kernel takes it.
bool emit_pair(BindContext& ctx, const BoundPair& pair) {
  const ConvolutionPart first(ctx, pair.first), second(ctx, pair.second);
  std::vector<Location> inputs = first.inputs;
  inputs.insert(inputs.end(), second.inputs.begin(), second.inputs.end());
  if (!first.is_whole || !second.is_whole || !are_static(inputs)) return false;
  Binding& binding = ctx.builder.binding();
  bool all_of_plan = true;
  const std::vector<Spot> spots = spots_of(inputs);
  std::vector<const void*> constants = constants_of(binding, spots, all_of_plan);
  const Spot between{.layout = ctx.values.result_layout(first.result),
                     .dtype = ctx.values.type(first.result).dtype},
      result{.layout = ctx.values.result_layout(second.result),
             .dtype = ctx.values.type(second.result).dtype};
  const std::vector<tensor::Operand> out{operand_of(ctx.builder.layout(result), result.dtype)};
  const std::vector<tensor::Operand> in = operands_of(binding, spots);
  const auto program_of = [](const ConvolutionPart& part) {
    return part.program ? &*part.program : nullptr;
  };
  const kernels::ConvPair asked_pair{
      .second = first.inputs.size(),
      .between = operand_of(ctx.builder.layout(between), between.dtype),
      .attrs = second.convolution.attrs,
      .program = program_of(second)};
  kernels::PrepareCtx asked{in,
                            out,
                            constants,
                            first.convolution.attrs,
                            program_of(first),
                            first.of_plan && second.of_plan ? &ctx.plan->packs : nullptr};
  asked.pair = &asked_pair;
  constexpr auto kKernel = kernels::KernelId::conv_pair;
  kernels::Prepared prepared = ask_kernel(
      ctx.builder, kernels::kernel(kKernel), asked, inputs,
      [&] { std::ranges::copy(constants_of(binding, spots, all_of_plan), constants.begin()); });
  if (prepared.refusal) return false;
  std::vector<NodeId> nodes = pair.first.nodes;
  nodes.insert(nodes.end(), pair.second.nodes.begin(), pair.second.nodes.end());
  emit_fused_call(ctx, nodes, kKernel, std::move(prepared), inputs, {second.result});
  return true;
}

Expected<void> bind_part(BindContext& ctx, const FusedGroup& group) {
  return group.nodes.size() > 1 ? bind_group(ctx, group) : bind_alone(ctx, group.nodes[0]);
}

}  // namespace

ConvPairs::ConvPairs(std::vector<BoundPair> pairs, std::size_t node_count)
    : pairs_(std::move(pairs)), pair_of_(node_count) {
  for (std::size_t i = 0; i < pairs_.size(); ++i)
    for (const FusedGroup* each : {&pairs_[i].first, &pairs_[i].second})
      for (const NodeId id : each->nodes) pair_of_[id.index] = static_cast<std::uint32_t>(i + 1);
}

ConvPairs find_conv_pairs(const BindContext& ctx, const std::vector<bool>& channels_last) {
  return {PairFinder(ctx, channels_last).find(), ctx.module.node_count()};
}

Expected<void> bind_pair(BindContext& ctx, const BoundPair& pair) {
  if (emit_pair(ctx, pair)) return {};
  SCANLOOM_CHECK_OK(bind_part(ctx, pair.first));
  return bind_part(ctx, pair.second);
}

}  // namespace scanloom::plan
