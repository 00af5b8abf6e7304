#include "plan/codegen/body_source.h"

#include <algorithm>
#include <limits>

#include "base/assert.h"
#include "ir/loop_ports.h"
#include "loopnest/run.h"
#include "loopnest/size.h"
#include "plan/codegen/nest_source.h"
#include "plan/codegen/slots_touched.h"
#include "plan/codegen/step_extents.h"
#include "plan/cost.h"

namespace scanloom::plan {
namespace {

using loopnest::Access;
using loopnest::BodyParts;
using loopnest::IsBuffer;
using loopnest::Nest;
using loopnest::Part;
using loopnest::Reduction;
using loopnest::Stage;
using loopnest::Statement;
using loopnest::Use;
using loopnest::use_of;

loopnest::OriginId origin_of(ir::NodeId node) { return loopnest::OriginId(node.index); }

std::vector<ir::NodeId> nodes_of(const Part& part) {
  std::vector<ir::NodeId> nodes;
  for (const loopnest::OriginId origin : part.origins) nodes.emplace_back(origin.index);
  return nodes;
}

class BodyMaker {
 public:
  BodyMaker(const Plan& plan, const Binding& binding, const BoundLoop& loop, NestTrace* trace)
      : plan_(plan), binding_(binding), loop_(loop), trace_(trace) {
    if (trace_ == nullptr) return;
    options_.dump = [trace](const loopnest::NestPass& pass, const std::string& before,
                            const std::string& after) {
      trace->steps.push_back({pass.name, before, after});
    };
  }

  Expected<Body> make() {
    if (loop_.per_step.refusal)
      return fail(Code::unsupported, "{} {}", describe(plan_, loop_.node),
                  loop_.per_step.refusal->reason);
    Body body;
    loopnest::BodySource& source = body.source;
    std::vector<Use> read_later;
    if (loop_.keep_going.present()) {
      source.keep_going =
          Access{loop_.keep_going.slot, DType::boolean, loop_.keep_going.offset, {}};
      read_later.push_back(use_of(*source.keep_going, {}));
    }
    for (const BoundCarried& port : loop_.carried)
      if (!port.in_place) source.swaps.push_back({port.argument.slot, port.next.slot});
    const auto is_buffer = [&](std::int32_t slot) { return is_in_arena(slot) && !is_state(slot); };
    for (const BoundScanned& port : loop_.scanned)
      source.moves.push_back({port.argument.slot, port.step_bytes});
    for (const BoundStacked& port : loop_.stacked)
      source.moves.push_back({port.row.slot, port.step_bytes});
    SCANLOOM_CHECK_OK(add_statements(loop_.body, loop_.exit - 1, is_buffer, read_later, body));
    return body;
  }

  /// Describes only instructions [first, last). Values that other instructions also use stay in
  /// memory.
  Expected<Body> make_outlined_region(std::uint32_t first, std::uint32_t last) {
    const std::vector<bool> touched = slots_touched_outside(binding_, first, last);
    const auto is_buffer = [&](std::int32_t slot) {
      return is_in_arena(slot) && !touched[static_cast<std::size_t>(slot)];
    };
    Body body;
    SCANLOOM_CHECK_OK(add_statements(first, last, is_buffer, {}, body));
    // The run must see the slots that the code sets once it returns, just like slots that move.
    add_set_slots(body.source.statements, body.source.moves);
    return body;
  }

 private:
  /// Whether the slot holds a state that is updated in place.
  [[nodiscard]] bool is_state(std::int32_t slot) const {
    return std::ranges::any_of(loop_.carried, [&](const BoundCarried& port) {
      return port.in_place && (port.argument.slot == slot || port.next.slot == slot);
    });
  }
  [[nodiscard]] bool is_in_arena(std::int32_t slot) const {
    return binding_.slots[static_cast<std::size_t>(slot)].kind == SlotInit::Kind::arena;
  }

  Expected<void> add_statements(std::uint32_t first, std::uint32_t last, const IsBuffer& is_buffer,
                                const std::vector<Use>& read_later, Body& body) {
    BodyParts given{.parts = {},
                    .source = std::move(body.source),
                    .is_buffer = is_buffer,
                    .read_later = read_later};
    SCANLOOM_TRY(BodyParts parts, as_nests(first, last, given));
    if (takes_indices_ && emitted_of(parts.parts) > kMaxEmittedOfBody) {
      takes_indices_ = false;
      SCANLOOM_TRY(parts, as_nests(first, last, std::move(given)));
    }
    SCANLOOM_CHECK_OK(run(parts, Stage::place, options_));
    if (const std::int64_t emitted = emitted_of(parts.parts); emitted > kMaxEmittedOfBody)
      return fail(Code::unsupported,
                  "{} takes {} operations of machine code, more than the limit of {}",
                  describe(plan_, loop_.node), emitted, kMaxEmittedOfBody);
    parts.extents = step_extents(binding_, loop_);
    SCANLOOM_CHECK_OK(run(parts, Stage::share, options_));
    body.source = std::move(parts.source);
    body.parameters = std::move(parts.parameters);
    for (Part& part : parts.parts) {
      body.source.statements.push_back(std::move(part.statement));
      body.nodes.push_back(nodes_of(part));
    }
    return {};
  }

  /// Returns instructions [first, last) as few parts. If nests that are read in pieces would take
  /// too much code, they are not split.
  Expected<BodyParts> as_nests(std::uint32_t first, std::uint32_t last, BodyParts body) {
    add_range(first, last, false, body.parts);
    std::vector<Part> given;
    if (has_pieces(body.parts)) given = body.parts;
    SCANLOOM_CHECK_OK(shrink(body));
    if (given.empty() || emitted_of(body.parts) <= kMaxEmittedToSplit) return body;
    body.parts = std::move(given);
    for (Part& part : body.parts) part.whole.reset();
    SCANLOOM_CHECK_OK(shrink(body));
    return body;
  }

  /// Runs the passes. The trace keeps only the last attempt.
  Expected<void> shrink(BodyParts& body) const {
    if (trace_ != nullptr) trace_->steps.clear();
    SCANLOOM_CHECK_OK(run(body, Stage::shrink, options_));
    return {};
  }

  static bool has_pieces(const std::vector<Part>& parts) {
    return std::ranges::any_of(parts, [](const Part& part) { return part.whole.has_value(); });
  }

  // The recursion is bounded: the planner limits the depth of statements.
  static void add_set_slots(const std::vector<Statement>& statements,
                            std::vector<loopnest::SlotMove>& moves) {
    for (const Statement& statement : statements) {
      if (statement.kind == Statement::Kind::set) moves.push_back({statement.set.slot, 0});
      for (const loopnest::SlotSet& set : statement.loop.after) moves.push_back({set.slot, 0});
      add_set_slots(statement.inner, moves);
      add_set_slots(statement.otherwise, moves);
    }
  }

  /// Appends instructions [first, last) as parts. Binding limits the depth of blocks.
  void add_range(std::uint32_t first, std::uint32_t last, bool in_branch,
                 std::vector<Part>& parts) {
    for (std::uint32_t at = first; at < last; at = end_of_block(binding_, at)) {
      const Instruction& instruction = binding_.code[at];
      switch (instruction.op) {
        case Op::alias:
          parts.push_back(part_of_alias(binding_.aliases[instruction.index]));
          break;
        case Op::branch:
          add_branch(at, parts);
          break;
        case Op::charge:
          parts.push_back(part_of_charge(instruction.index));
          break;
        case Op::loop_begin:
          add_loop(instruction.index, in_branch, parts);
          break;
        case Op::call:
          add_call(instruction.index, parts);
          break;
        case Op::loop_end:
        case Op::compiled_loop:
        case Op::jump:
        case Op::dynamic_call:
        case Op::object_call:
        case Op::check_sizes:
        case Op::trap:
        case Op::poll:
        case Op::outlined_region:
        case Op::end:
          SCANLOOM_ASSERT(!"find_body_code lets no such instruction pass");
      }
    }
  }

  void add_call(std::uint32_t index, std::vector<Part>& parts) const {
    const BoundCall& call = binding_.calls[index];
    if (call.run == tensor::do_nothing) return;
    const CallView view(plan_, binding_, call);
    std::vector<Nest> nests;
    if (call.outputs == 1 && view.output().present() &&
        view.layout(view.output()).dims.elements() > 0) {
      nests = nests_of(view);
      if (auto picked = dynamic_slice_nest(view);
          nests.empty() && picked && is_small(picked->nest) && is_supported(picked->nest)) {
        parts.push_back(part_of_dynamic_slice(view, index, *std::move(picked)));
        return;
      }
      if (nests.empty() && takes_indices_)
        nests = indexed_nests(view, static_cast<std::int32_t>(index));
    }
    const bool taken = !nests.empty() && std::ranges::all_of(nests, [&](const Nest& nest) {
      return is_small(nest) && is_supported(nest);
    });
    if (taken)
      add_nests(view, std::move(nests), parts);
    else
      parts.push_back(part_of_call(view, index));
  }

  static void add_nests(const CallView& view, std::vector<Nest> nests, std::vector<Part>& parts) {
    const bool are_pieces =
        nests.size() > 1 && nests.back().update.instrs.empty() && !nests.back().may_fail();
    for (Nest& nest : nests) {
      Part part = part_of(std::move(nest), {origin_of(view.node_id())});
      if (are_pieces) part.whole = whole_of(view);
      parts.push_back(std::move(part));
    }
  }

  static std::optional<loopnest::Whole> whole_of(const CallView& view) {
    const Spot& spot = view.output();
    const Layout& layout = view.layout(spot);
    if (!layout.contiguous) return std::nullopt;
    return loopnest::Whole{spot.slot,
                           spot.dtype,
                           spot.offset,
                           {layout.dims.begin(), layout.dims.end()},
                           {layout.strides.begin(), layout.strides.end()}};
  }

  [[nodiscard]] Part part_of_call(const CallView& view, std::uint32_t index) const {
    Part part;
    part.origins = {origin_of(view.node_id())};
    if (const ir::NodeId pipelined = binding_.calls[index].pipelined.node; pipelined.valid())
      part.origins.push_back(origin_of(pipelined));
    part.statement.kind = Statement::Kind::call;
    part.statement.call = static_cast<std::int32_t>(index);
    for (std::size_t i = 0; i < view.inputs() + view.outputs(); ++i)
      add_use(view.spot(i), i < view.inputs() ? part.reads : part.writes);
    return part;
  }

  /// Uses the same slots as the call, because it may turn back into that call.
  [[nodiscard]] Part part_of_dynamic_slice(const CallView& view, std::uint32_t index,
                                           SlicedNest picked) const {
    Part part = part_of_call(view, index);
    part.statement.kind = Statement::Kind::dynamic_slice;
    part.statement.slice = std::move(picked.slice);
    part.statement.nest = std::move(picked.nest);
    return part;
  }

  /// Adds a use of the entire value.
  void add_use(const Spot& spot, std::vector<Use>& uses) const {
    if (!spot.present()) return;
    const Layout& where = binding_.layouts[static_cast<std::size_t>(spot.layout)];
    if (where.dims.elements() == 0) return;
    Access all = first_element(spot);
    all.strides.assign(where.strides.begin(), where.strides.end());
    uses.push_back(use_of(all, {where.dims.begin(), where.dims.end()}));
  }

  /// Returns a use of everything that the slot may point to, for a statement that sets the slot.
  static Use all_of(std::int32_t slot) {
    constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
    return {slot, -kFar, kFar};
  }

  static loopnest::SlotSet set_to(const Spot& to, const Spot& from, std::int64_t bytes = 0) {
    return {to.slot, from.slot, from.offset + bytes - to.offset};
  }

  [[nodiscard]] Part part_of_alias(const Alias& alias) const {
    Part part;
    part.statement.kind = Statement::Kind::set;
    part.statement.set = set_to(alias.to, alias.from);
    add_use(alias.from, part.reads);
    part.writes.push_back(all_of(alias.to.slot));
    return part;
  }

  static Part part_of_charge(std::uint32_t nanoseconds) {
    Part part;
    part.statement.kind = Statement::Kind::charge;
    part.statement.nanoseconds = nanoseconds;
    return part;
  }

  /// Turns the parts inside a block into its statements and adds their uses to the block. Their
  /// values stay in memory, because another region, or a read after the last step, may need them.
  static std::vector<Statement> close_block(std::vector<Part> parts, Part& block) {
    std::vector<Statement> statements;
    BodyParts inside{.parts = std::move(parts)};
    run_inner(inside, Stage::shrink);
    for (Part& part : inside.parts) {
      block.reads.insert(block.reads.end(), part.reads.begin(), part.reads.end());
      block.writes.insert(block.writes.end(), part.writes.begin(), part.writes.end());
    }
    run_inner(inside, Stage::place);
    for (Part& part : inside.parts) statements.push_back(std::move(part.statement));
    return statements;
  }

  void add_branch(std::uint32_t at, std::vector<Part>& parts) {
    const BoundBranch& branch = binding_.branches[binding_.code[at].index];
    Part block;
    block.origins = {origin_of(branch.node)};
    block.statement.kind = Statement::Kind::branch;
    block.statement.condition = {
        branch.condition.slot, DType::boolean, branch.condition.offset, {}};
    block.reads.push_back(use_of(block.statement.condition, {}));
    std::vector<Part> inner, otherwise;
    const BranchRegions sides = regions_of(binding_, at);
    add_range(sides.then.first, sides.then.last, true, inner);
    add_range(sides.otherwise.first, sides.otherwise.last, true, otherwise);
    block.statement.inner = close_block(std::move(inner), block);
    block.statement.otherwise = close_block(std::move(otherwise), block);
    parts.push_back(std::move(block));
  }

  /// Adds the controls that decide at run time how many steps the loop takes.
  void add_control(const BoundLoop& inner, Part& block) const {
    loopnest::InnerLoop& loop = block.statement.loop;
    const auto operand = [&](const Spot& spot) {
      block.reads.push_back(use_of(first_element(spot), {}));
      return first_element(spot);
    };
    if (inner.trip_count >= 0)
      loop.trips = inner.trip_count;
    else if (inner.trip_operand.present())
      loop.trip_count = operand(inner.trip_operand);
    else
      loop.trips = ir::kEndlessTripCount;
    loop.endless = ir::kEndlessTripCount;
    if (inner.trip_count < 0 && !inner.scanned.empty())
      loop.slices = slices_of(binding_, inner.scanned[0]);
    if (inner.condition.present()) loop.condition = operand(inner.condition);
    if (inner.keep_going.present()) loop.keep_going = operand(inner.keep_going);
  }

  /// Returns the steps of counted loops per execution of the statements.
  static std::int64_t counted_steps(const std::vector<Statement>& statements) {
    std::int64_t steps = 0;
    for (const Statement& statement : statements)
      if (statement.kind == Statement::Kind::loop && statement.loop.is_counted())
        steps += statement.loop.trips * (1 + counted_steps(statement.inner));
    return steps;
  }

  void add_loop(std::uint32_t index, bool in_branch, std::vector<Part>& parts) {
    const BoundLoop& inner = binding_.loops[index];
    Part block;
    block.origins = {origin_of(inner.node)};
    block.statement.kind = Statement::Kind::loop;
    loopnest::InnerLoop& loop = block.statement.loop;
    add_control(inner, block);
    for (const BoundCarried& port : inner.carried) {
      add_use(port.initial, block.reads);
      if (port.in_place) continue;
      loop.before.push_back(set_to(port.argument, port.initial));
      loop.before.push_back({port.next.slot, port.buffer_a, 0});
      loop.states.push_back(
          {port.argument.slot, port.next.slot, {port.next.slot, port.buffer_b, 0}});
      loop.after.push_back({port.final.slot, port.argument.slot, 0});
      loop.skipped.push_back(set_to(port.final, port.initial));
      block.writes.push_back(all_of(port.final.slot));
    }
    for (const BoundScanned& port : inner.scanned) {
      loop.before.push_back(set_to(port.argument, port.outer, port.first_bytes));
      loop.moves.push_back({port.argument.slot, port.step_bytes});
      add_use(port.outer, block.reads);
    }
    for (const BoundStacked& port : inner.stacked) {
      loop.before.push_back(set_to(port.row, port.result, port.first_bytes));
      loop.moves.push_back({port.row.slot, port.step_bytes});
      add_use(port.result, block.writes);
    }
    std::vector<Part> steps;
    add_range(inner.body, inner.exit - 1, in_branch, steps);
    block.statement.inner = close_block(std::move(steps), block);
    if (in_branch || !has_known_trips(inner)) {
      loop.index = static_cast<std::int32_t>(index);
      loop.weight = 1 + counted_steps(block.statement.inner);
    }
    parts.push_back(std::move(block));
  }

  [[nodiscard]] static bool is_small(const Nest& nest) {
    std::int64_t reduced = 1;
    for (const Reduction& reduction : nest.reductions)
      reduced = std::max(reduced, tensor::Shape(reduction.sizes).elements());
    return tensor::Shape(nest.sizes).elements() * reduced <= kMaxElementsOfNest;
  }

  [[nodiscard]] bool is_supported(const Nest& nest) const {
    bool supported = true;
    loopnest::for_programs(nest, [&](const tensor::ScalarProgram& program) {
      supported = supported && plan_.options.compiler->check(program).has_value();
    });
    return supported;
  }

  const Plan& plan_;
  const Binding& binding_;
  const BoundLoop& loop_;
  NestTrace* trace_;
  loopnest::NestRunOptions options_;
  /// Whether gathers and scatters by several indices become nests. Their code is long, because each
  /// lane is a separate access.
  bool takes_indices_ = true;
};

}  // namespace

bool has_known_trips(const BoundLoop& loop) {
  return loop.trip_count >= 1 && !loop.condition.present() && !loop.keep_going.present();
}

std::int64_t slices_of(const Binding& binding, const BoundScanned& port) {
  const Layout& outer = binding.layouts[static_cast<std::size_t>(port.outer.layout)];
  return port.window(outer.dims[static_cast<int>(port.slices.axis)]).count;
}

Expected<Body> describe_body(const Plan& plan, const Binding& binding, const BoundLoop& loop,
                             NestTrace* trace) {
  return BodyMaker(plan, binding, loop, trace).make();
}

Expected<Body> describe_outlined_region(const Plan& plan, const Binding& binding,
                                        const OutlinedRegion& outlined, NestTrace* trace) {
  return BodyMaker(plan, binding, binding.loops[outlined.loop], trace)
      .make_outlined_region(outlined.first, outlined.last);
}

}  // namespace scanloom::plan
