#include "plan/codegen/call_parts.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "plan/codegen/nest_source.h"
#include "plan/cost.h"

namespace scanloom::plan {
namespace {

using loopnest::Access;
using loopnest::Nest;
using loopnest::Part;
using loopnest::Statement;

bool is_small(const Nest& nest) {
  std::int64_t reduced = 1;
  for (const loopnest::Reduction& reduction : nest.reductions)
    reduced = std::max(reduced, tensor::Shape(reduction.sizes).elements());
  return tensor::Shape(nest.sizes).elements() * reduced <= kMaxElementsOfNest;
}

bool has_machine_code(const Plan& plan, const Nest& nest) {
  bool supported = true;
  loopnest::for_programs(nest, [&](const tensor::ScalarProgram& program) {
    supported = supported && plan.options.compiler->check(program).has_value();
  });
  return supported;
}

bool is_compiled(const Plan& plan, const Nest& nest) {
  return is_small(nest) && has_machine_code(plan, nest);
}

std::optional<loopnest::Whole> whole_of(const CallView& view) {
  const Spot& spot = view.output();
  const Layout& layout = view.layout(spot);
  if (!layout.contiguous) return std::nullopt;
  return loopnest::Whole{spot.slot,
                         spot.dtype,
                         spot.offset,
                         {layout.dims.begin(), layout.dims.end()},
                         {layout.strides.begin(), layout.strides.end()}};
}

void add_nests(const CallView& view, std::vector<Nest> nests, std::vector<Part>& parts) {
  const bool are_pieces =
      nests.size() > 1 && nests.back().update.instrs.empty() && !nests.back().may_fail();
  for (Nest& nest : nests) {
    Part part = part_of(std::move(nest), {origin_of(view.node_id())});
    if (are_pieces) part.whole = whole_of(view);
    parts.push_back(std::move(part));
  }
}

Part part_of_call(const Binding& binding, const CallView& view, std::uint32_t index) {
  Part part;
  part.origins = {origin_of(view.node_id())};
  if (const ir::NodeId pipelined = binding.calls[index].pipelined.node; pipelined.valid())
    part.origins.push_back(origin_of(pipelined));
  part.statement.kind = Statement::Kind::call;
  part.statement.call = static_cast<std::int32_t>(index);
  for (std::size_t i = 0; i < view.inputs() + view.outputs(); ++i)
    add_use(binding, view.spot(i), i < view.inputs() ? part.reads : part.writes);
  return part;
}

/// `call`: the part of the call, which it may become, and so touches what that does.
Part part_of_dynamic_slice(Part call, SlicedNest picked) {
  call.statement.kind = Statement::Kind::dynamic_slice;
  call.statement.slice = std::move(picked.slice);
  call.statement.nest = std::move(picked.nest);
  return call;
}

}  // namespace

void add_call(const Plan& plan, const Binding& binding, std::uint32_t index, bool takes_indices,
              std::vector<Part>& parts) {
  const BoundCall& call = binding.calls[index];
  if (call.run == tensor::do_nothing) return;
  const CallView view(plan, binding, call);
  std::vector<Nest> nests;
  if (call.outputs == 1 && view.output().present() &&
      view.layout(view.output()).dims.elements() > 0) {
    nests = nests_of(view);
    if (auto picked = dynamic_slice_nest(view);
        nests.empty() && picked && is_compiled(plan, picked->nest)) {
      parts.push_back(
          part_of_dynamic_slice(part_of_call(binding, view, index), *std::move(picked)));
      return;
    }
    if (nests.empty() && takes_indices)
      nests = indexed_nests(view, static_cast<std::int32_t>(index));
  }
  const auto compiles = [&](const Nest& nest) { return is_compiled(plan, nest); };
  if (!nests.empty() && std::ranges::all_of(nests, compiles))
    add_nests(view, std::move(nests), parts);
  else
    parts.push_back(part_of_call(binding, view, index));
}

void add_use(const Binding& binding, const Spot& spot, std::vector<loopnest::Use>& uses) {
  if (!spot.present()) return;
  const Layout& where = binding.layouts[static_cast<std::size_t>(spot.layout)];
  if (where.dims.elements() == 0) return;
  Access all = first_element(spot);
  all.strides.assign(where.strides.begin(), where.strides.end());
  uses.push_back(use_of(all, {where.dims.begin(), where.dims.end()}));
}

}  // namespace scanloom::plan
