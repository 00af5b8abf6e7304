#include "passes/nodes/decompose_windows.h"

#include <algorithm>
#include <functional>

#include "ops/composer.h"
#include "ops/index/scatter_slice.h"
#include "ops/ops.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Node;
using ir::ValueId;
namespace window = ops::scatter_slice;

ValueId window_operand(const Node& node, std::size_t i) {
  return i < node.inputs.size() ? node.inputs[i] : ValueId();
}

/// Returns the part of `numbers`, which are as large as the node's data, in the window.
ValueId picked(ops::Composer& c, const Node& node, int rank, ValueId numbers) {
  const std::vector<std::int64_t>& axes = node.attrs[window::kAxes].integers();
  ValueId part = numbers;
  if (!axes.empty())
    part = c.op(ops::slice_op,
                {part, window_operand(node, window::kStarts), window_operand(node, window::kEnds),
                 c.list(axes), window_operand(node, window::kSteps)});
  const ValueId indices = window_operand(node, window::kIndices);
  struct Pick {
    int axis;
    std::int64_t at;
  };
  std::vector<Pick> picks;
  for (const std::int64_t given : node.attrs[window::kPicked].integers())
    picks.push_back(
        {window::non_negative_axis(given, rank), static_cast<std::int64_t>(picks.size())});
  // From the last axis on, so that the axes before it keep their positions.
  std::ranges::sort(picks, std::greater<>(), &Pick::axis);
  for (const Pick& pick : picks) {
    const ValueId list = c.op(ops::reshape_op, {indices, c.list({-1})}, {{"allowzero", 0}});
    part = c.gather(part, c.gather(list, c.number(pick.at), 0), pick.axis);
  }
  return part;
}

Expected<bool> decompose_window(Rewriter& rewriter, ir::NodeId id) {
  const Node node = rewriter.module().node(id);  // by value: adding nodes may move it
  if (node.op != &ops::scatter_slice_op) return false;
  const ValueId data = node.inputs[window::kData];
  if (!rewriter.type(data).ranked) return false;
  ops::Composer c(rewriter.build());
  const auto in_a_row = [&](ValueId x) {
    return c.op(ops::reshape_op, {x, c.list({-1})}, {{"allowzero", 0}});
  };
  const ValueId sizes = c.shape(data);
  const ValueId flat = in_a_row(data);
  const ValueId numbers = c.reshape(c.count_up(c.dim(flat, 0)), sizes);
  const ValueId part = picked(c, node, rewriter.type(data).rank(), numbers);
  const ValueId updates = c.expand(node.inputs[window::kUpdates], c.shape(part));
  const ValueId written = c.op(ops::scatter_elements_op, {flat, in_a_row(part), in_a_row(updates)},
                               {{"axis", 0}, {"reduction", node.attrs[window::kReduction].text()}});
  const ValueId result = c.reshape(written, sizes);
  SCANLOOM_CHECK_OK(c.done());
  rewriter.replace(node.outputs[0], result);
  return true;
}

}  // namespace

Expected<void> decompose_windows(ir::Module& module) {
  SCANLOOM_TRY(const Change change, Rewriter(module).sweep(decompose_window));
  static_cast<void>(change);
  return {};
}

}  // namespace scanloom::passes
