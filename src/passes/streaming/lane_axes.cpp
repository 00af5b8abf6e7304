#include "passes/streaming/lane_axes.h"

#include <algorithm>

#include "passes/streaming/lane_flow.h"

namespace scanloom::passes {
namespace {

using ir::Dim;
using ir::Module;
using ir::StepFlow;
using ir::ValueId;
using Axes = std::vector<std::optional<int>>;
using Kind = StepFlow::Kind;

/// A size that may be that of the batch, and its axis in each argument that has it.
struct Candidate {
  Dim size;
  Axes axes;
};

/// Returns the axes of the arguments with an open size other than the steps, by argument.
std::vector<std::vector<int>> open_axes(const Module& module,
                                        const std::vector<StepFlow>& arguments) {
  const std::vector<ValueId>& args = module.region(module.top()).args;
  std::vector<std::vector<int>> open(args.size());
  for (std::size_t i = 0; i < args.size(); ++i) {
    const ir::Type& type = module.value(args[i]).type;
    if (!type.is_tensor() || !type.ranked) continue;
    for (int axis = 0; axis < type.rank(); ++axis)
      if (!type.dims[static_cast<std::size_t>(axis)].is_constant() &&
          (arguments[i].kind != Kind::along || arguments[i].axis != axis))
        open[i].push_back(axis);
  }
  return open;
}

/// Each open size on its own, then all of them: files often leave them without a name.
std::vector<Candidate> candidates(const Module& module, const std::vector<StepFlow>& arguments) {
  const std::vector<ValueId>& args = module.region(module.top()).args;
  const std::vector<std::vector<int>> open = open_axes(module, arguments);
  std::vector<Candidate> found;
  std::vector<Dim> twice;
  for (std::size_t i = 0; i < open.size(); ++i)
    for (const int axis : open[i]) {
      const Dim size = module.value(args[i]).type.dims[static_cast<std::size_t>(axis)];
      auto at = std::ranges::find(found, size, &Candidate::size);
      if (at == found.end()) at = found.insert(found.end(), {size, Axes(args.size())});
      if (at->axes[i]) twice.push_back(size);
      at->axes[i] = axis;
    }
  Candidate all{found.empty() ? Dim() : found[0].size, Axes(args.size())};
  const bool one_each = std::ranges::all_of(open, [](const auto& axes) { return axes.size() < 2; });
  for (std::size_t i = 0; i < open.size(); ++i)
    if (open[i].size() == 1) all.axes[i] = open[i][0];
  if (found.size() > 1 && one_each) found.push_back(std::move(all));
  std::erase_if(found, [&](const Candidate& candidate) {
    return std::ranges::find(twice, candidate.size) != twice.end();
  });
  return found;
}

/// Returns what has steps or is carried, but has no lanes.
std::optional<Refusal> find_without_lanes(const Module& module, const LaneAxes& axes,
                                          const std::vector<StepFlow>& arguments,
                                          const std::vector<StepFlow>& results) {
  const ir::Region& top = module.region(module.top());
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].kind == Kind::along && !axes.arguments[i])
      return Refusal(
          fmt::format("input {} has no axis of the batch", module.describe(top.args[i])));
  for (const ir::State& state : module.states)
    if (!axes.arguments[state.input])
      return Refusal(fmt::format("'{}' has no axis of the batch", state.name));
  for (std::size_t i = 0; i < results.size(); ++i)
    if (results[i].kind != Kind::same && !axes.results[i])
      return Refusal(fmt::format("output '{}' has no axis of the batch", module.output_names[i]));
  return std::nullopt;
}

}  // namespace

std::variant<LaneAxes, Refusal> lane_axes(const Module& module,
                                          const std::vector<StepFlow>& arguments,
                                          const std::vector<StepFlow>& results) {
  std::optional<Refusal> first;
  for (const Candidate& candidate : candidates(module, arguments)) {
    std::variant<LaneAxes, Refusal> found = follow_lanes(module, candidate.size, candidate.axes);
    std::optional<Refusal> refusal;
    if (const auto* axes = std::get_if<LaneAxes>(&found))
      refusal = find_without_lanes(module, *axes, arguments, results);
    else
      refusal = std::get<Refusal>(found);
    if (!refusal) return found;
    if (!first) first = std::move(refusal);
  }
  if (first) return *std::move(first);
  return Refusal("no input has an open size besides the number of steps, so there is no batch");
}

}  // namespace scanloom::passes
