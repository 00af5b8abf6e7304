#include "plan/codegen/body_source.h"

#include <algorithm>

#include "loopnest/run.h"
#include "loopnest/size.h"
#include "plan/codegen/instruction_parts.h"
#include "plan/codegen/slots_touched.h"
#include "plan/codegen/step_extents.h"
#include "plan/cost.h"

namespace scanloom::plan {
namespace {

using loopnest::Access;
using loopnest::BodyParts;
using loopnest::IsBuffer;
using loopnest::Part;
using loopnest::Stage;
using loopnest::Statement;
using loopnest::Use;
using loopnest::use_of;

std::vector<ir::NodeId> nodes_of(const Part& part) {
  std::vector<ir::NodeId> nodes;
  for (const loopnest::OriginId origin : part.origins) nodes.emplace_back(origin.index);
  return nodes;
}

bool has_pieces(const std::vector<Part>& parts) {
  return std::ranges::any_of(parts, [](const Part& part) { return part.whole.has_value(); });
}

// The recursion is bounded: the planner limits the depth of statements.
void add_set_slots(const std::vector<Statement>& statements,
                   std::vector<loopnest::SlotMove>& moves) {
  for (const Statement& statement : statements) {
    if (statement.kind == Statement::Kind::set) moves.push_back({statement.set.slot, 0});
    for (const loopnest::SlotSet& set : statement.loop.after) moves.push_back({set.slot, 0});
    add_set_slots(statement.inner, moves);
    add_set_slots(statement.otherwise, moves);
  }
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
    SCANLOOM_TRY(body.parts, parts_of_instructions(plan_, binding_, first, last, takes_indices_));
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

  const Plan& plan_;
  const Binding& binding_;
  const BoundLoop& loop_;
  NestTrace* trace_;
  loopnest::NestRunOptions options_;
  bool takes_indices_ = true;  ///< see add_call
};

}  // namespace

bool has_known_trips(const BoundLoop& loop) {
  return loop.trip_count >= 1 && !loop.condition.present() && !loop.keep_going.present();
}

std::int64_t slices_of(const Binding& binding, const BoundScanned& port) {
  const Layout& outer = binding.layouts[static_cast<std::size_t>(port.outer.layout)];
  return port.window(outer.dims[static_cast<int>(port.slices.axis)]).count;
}

const BoundLoop* loop_whose_body_holds(const Binding& binding, const BoundLoop& loop) {
  for (const BoundLoop& other : binding.loops)
    if (other.body > 0 && other.body < loop.body && loop.exit < other.exit &&
        describe_body(*binding.plan, binding, other))
      return &other;
  return nullptr;
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
