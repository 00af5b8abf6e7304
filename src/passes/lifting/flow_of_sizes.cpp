#include "passes/lifting/flow_of_sizes.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "ops/ops.h"
#include "ops/step_rules.h"
#include "passes/lifting/flow_of_results.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::across;
using ir::Dim;
using ir::Node;
using ir::StepFlow;
using ir::StepSite;
using ir::Type;
using Kind = StepFlow::Kind;

constexpr StepFlow kCount{Kind::count, 0};

Error reads_their_number() { return across("it reads their number"); }

/// One size of a value along the steps, or a list of some of its sizes.
Expected<StepFlow> flow_of_size(const StepSite& site) {
  const int rank = site.type(0).rank();
  const auto axis_of = [&](std::string_view name) {
    const ir::Attr& attr = attr_of(site.node, name);
    const std::int64_t axis = attr.present() ? attr.integer() : rank;
    return static_cast<int>(std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank));
  };
  const bool list = site.node.op == &ops::shape_op;
  const int first = axis_of(list ? "start" : "axis");
  const int last = list ? axis_of("end") : first + 1;
  if (site.axis(0) < first || site.axis(0) >= last) return StepFlow{};
  if (site.flow(0).each != Dim(1)) return reads_their_number();
  return StepFlow{list ? Kind::sizes : Kind::count, site.axis(0) - first};
}

/// A list of sizes that contains the number of steps once.
Expected<StepFlow> flow_of_list(const StepSite& site) {
  std::optional<int> at;
  int length = 0;
  for (std::size_t i = 0; i < site.node.inputs.size(); ++i) {
    const Type& part = site.type(i);
    const Kind own = site.flow(i).kind;
    if (at ? own != Kind::same : own == Kind::along || own == Kind::last)
      return reads_their_number();
    if (!part.is_static() || part.rank() != 1) return reads_their_number();
    if (own != Kind::same) at = length + site.axis(i);
    length += static_cast<int>(part.shape().elements());
  }
  return StepFlow{Kind::sizes, *at};
}

/// A node whose result has the shape given by a list: a reshape, copies, or one number.
Expected<StepFlow> flow_of_shaped(const StepSite& site, std::size_t shape) {
  const Node& node = site.node;
  if (shape > 0 && site.along(0)) return flow_along(site);
  const Type& list = site.type(shape);
  if (node.op == &ops::reshape_op || !list.is_static() || !site.result_type().ranked ||
      (shape > 0 && (site.flow(0).kind != Kind::same || !site.type(0).ranked)))
    return reads_their_number();
  const int trailing = static_cast<int>(list.shape().elements()) - 1 - site.axis(shape);
  const int own = shape > 0 ? site.type(0).rank() - 1 - trailing : -1;
  if (own >= 0 && site.type(0).dims[static_cast<std::size_t>(own)] != Dim(1))
    return across("one of its operands has another size there");
  return StepFlow{Kind::along, site.result_type().rank() - 1 - trailing};
}

/// Returns which elements of the list of sizes the node takes; nullopt if they are not known.
std::optional<std::vector<int>> elements_picked(const StepSite& site) {
  const Node& node = site.node;
  const Type& list = site.type(0);
  if (!list.is_static()) return std::nullopt;
  const std::int64_t size = list.shape().elements();
  const auto in_list = [&](std::int64_t at) { return at < 0 ? at + size : at; };
  std::vector<int> picked;
  if (node.op == &ops::gather_op) {
    const auto indices = site.integers(1);
    if (!indices) return std::nullopt;
    for (const std::int64_t index : *indices) picked.push_back(static_cast<int>(in_list(index)));
    return picked;
  }
  const auto starts = site.integers(1), ends = site.integers(2);
  if (node.op != &ops::slice_op || !starts || !ends || starts->size() != 1 || ends->size() != 1)
    return std::nullopt;
  const auto steps = site.integers(4);
  if (site.has(4) && (!steps || steps->front() != 1)) return std::nullopt;
  const std::int64_t first = std::clamp<std::int64_t>(in_list(starts->front()), 0, size);
  const std::int64_t last = std::clamp<std::int64_t>(in_list(ends->front()), first, size);
  for (std::int64_t at = first; at < last; ++at) picked.push_back(static_cast<int>(at));
  return picked;
}

/// A node that passes the count on, or picks it from a list of sizes.
Expected<StepFlow> flow_of_picked(const StepSite& site) {
  const Node& node = site.node;
  const bool reshapes =
      node.op == &ops::squeeze_op || node.op == &ops::unsqueeze_op || node.op == &ops::identity_op;
  if (reshapes && kind_of(site, 0) == Kind::count) return kCount;
  if (node.op == &ops::check_equal_op) {
    bool all_count = true;
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      all_count = all_count && (!site.has(i) || kind_of(site, i) == Kind::count);
    if (all_count) return kCount;
  }
  if (kind_of(site, 0) != Kind::sizes) return reads_their_number();
  // A list that holds only the count.
  if (reshapes && site.axis(0) == 0 && site.type(0).is_static() &&
      site.type(0).shape().elements() == 1)
    return kCount;
  const auto picked = elements_picked(site);
  if (!picked) return reads_their_number();
  const auto at = std::ranges::find(*picked, site.axis(0));
  if (at == picked->end()) return StepFlow{};
  if (picked->size() == 1) return kCount;
  if (std::ranges::count(*picked, site.axis(0)) > 1 || site.result_type().rank() != 1)
    return reads_their_number();
  return StepFlow{Kind::sizes, static_cast<int>(at - picked->begin())};
}

}  // namespace

Expected<StepFlow> flow_of_sizes(const StepSite& site) {
  const Node& node = site.node;
  if (site.along(0) && (node.op == &ops::dim_op || node.op == &ops::shape_op))
    return flow_of_size(site);
  if (node.op == &ops::concat_op) return flow_of_list(site);
  const std::size_t shape = node.op == &ops::constant_of_shape_op ? 0 : 1;
  const bool shapes = shape == 0 || node.op == &ops::expand_op || node.op == &ops::reshape_op;
  if (shapes && site.has(shape) && site.flow(shape).kind == Kind::sizes)
    return flow_of_shaped(site, shape);
  return flow_of_picked(site);
}

bool picks_for_sizes(const StepSite& site) {
  const Node& node = site.node;
  if (node.op != &ops::gather_op || !site.along(0) || !site.type(0).ranked ||
      ops::attribute_axis(site, site.type(0).rank()) != site.axis(0))
    return false;
  // Other steps may be outside of a piece, or inside of the padding.
  const auto is_end = [](std::int64_t index) { return index == 0 || index == -1; };
  const auto indices = site.integers(1);
  if (!indices || !std::ranges::all_of(*indices, is_end)) return false;
  const ir::Region& top = site.module.region(site.module.top());
  const auto is_picked = [&](ir::ValueId value) { return value == node.outputs[0]; };
  return std::ranges::none_of(top.yields, is_picked) &&
         std::ranges::none_of(top.nodes, [&](ir::NodeId id) {
           const Node& reader = site.module.node(id);
           const bool reads_sizes = reader.op == &ops::shape_op || reader.op == &ops::dim_op;
           return !reads_sizes && std::ranges::any_of(reader.inputs, is_picked);
         });
}

Expected<void> expect_no_hidden_steps(const StepSite& site) {
  for (const ir::ValueId output : site.node.outputs) {
    const std::vector<Dim>& dims = site.module.value(output).type.dims;
    if (site.flows[output.index].kind == Kind::same &&
        std::ranges::find(dims, site.steps) != dims.end())
      return across("a result has their number as a size");
  }
  return {};
}

}  // namespace scanloom::passes
