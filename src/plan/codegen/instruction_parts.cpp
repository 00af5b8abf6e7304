#include "plan/codegen/instruction_parts.h"

#include <limits>
#include <utility>

#include "base/assert.h"
#include "ir/loop_ports.h"
#include "loopnest/run.h"
#include "plan/codegen/body_source.h"
#include "plan/codegen/call_parts.h"
#include "plan/codegen/nest_source.h"

namespace scanloom::plan {
namespace {

using loopnest::BodyParts;
using loopnest::Part;
using loopnest::SlotSet;
using loopnest::Stage;
using loopnest::Statement;
using loopnest::Use;
using loopnest::use_of;

/// Returns a use of everything that the slot may point to, for a statement that sets the slot.
Use all_of(std::int32_t slot) {
  constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
  return {slot, -kFar, kFar};
}

SlotSet set_to(const Spot& to, const Spot& from, std::int64_t bytes = 0) {
  return {to.slot, from.slot, from.offset + bytes - to.offset};
}

Part part_of_alias(const Binding& binding, const Alias& alias) {
  Part part;
  part.statement.kind = Statement::Kind::set;
  part.statement.set = set_to(alias.to, alias.from);
  add_use(binding, alias.from, part.reads);
  part.writes.push_back(all_of(alias.to.slot));
  return part;
}

Part part_of_charge(std::uint32_t nanoseconds) {
  Part part;
  part.statement.kind = Statement::Kind::charge;
  part.statement.nanoseconds = nanoseconds;
  return part;
}

/// Returns the steps of counted loops per execution of the statements.
std::int64_t counted_steps(const std::vector<Statement>& statements) {
  std::int64_t steps = 0;
  for (const Statement& statement : statements)
    if (statement.kind == Statement::Kind::loop && statement.loop.is_counted())
      steps += statement.loop.trips * (1 + counted_steps(statement.inner));
  return steps;
}

/// Sets the controls that decide at run time how many steps the loop takes.
void set_control(const Binding& binding, const BoundLoop& inner, Part& block) {
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
    loop.slices = slices_of(binding, inner.scanned[0]);
  if (inner.condition.present()) loop.condition = operand(inner.condition);
  if (inner.keep_going.present()) loop.keep_going = operand(inner.keep_going);
}

/// Sets how the slots of the loop's ports move.
void set_ports(const Binding& binding, const BoundLoop& inner, Part& block) {
  loopnest::InnerLoop& loop = block.statement.loop;
  for (const BoundCarried& port : inner.carried) {
    add_use(binding, port.initial, block.reads);
    if (port.in_place) continue;
    loop.before.push_back(set_to(port.argument, port.initial));
    loop.before.push_back({port.next.slot, port.buffer_a, 0});
    loop.states.push_back({port.argument.slot, port.next.slot, {port.next.slot, port.buffer_b, 0}});
    loop.after.push_back({port.final.slot, port.argument.slot, 0});
    loop.skipped.push_back(set_to(port.final, port.initial));
    block.writes.push_back(all_of(port.final.slot));
  }
  for (const BoundScanned& port : inner.scanned) {
    loop.before.push_back(set_to(port.argument, port.outer, port.first_bytes));
    loop.moves.push_back({port.argument.slot, port.step_bytes});
    add_use(binding, port.outer, block.reads);
  }
  for (const BoundStacked& port : inner.stacked) {
    loop.before.push_back(set_to(port.row, port.result, port.first_bytes));
    loop.moves.push_back({port.row.slot, port.step_bytes});
    add_use(binding, port.result, block.writes);
  }
}

/// Returns what is inside of a block, as the block's own. Values are kept in memory: the block may
/// be one of two, or its last step's may be read.
Expected<std::vector<Statement>> close_block(std::vector<Part> parts, Part& block) {
  BodyParts inside{.parts = std::move(parts)};
  SCANLOOM_CHECK_OK(run(inside, Stage::shrink));
  for (const Part& part : inside.parts) {
    block.reads.insert(block.reads.end(), part.reads.begin(), part.reads.end());
    block.writes.insert(block.writes.end(), part.writes.begin(), part.writes.end());
  }
  SCANLOOM_CHECK_OK(run(inside, Stage::place));
  std::vector<Statement> statements;
  for (Part& part : inside.parts) statements.push_back(std::move(part.statement));
  return statements;
}

/// Recurses into blocks, whose depth binding has bounded.
class InstructionLowering {
 public:
  InstructionLowering(const Plan& plan, const Binding& binding, bool takes_indices)
      : plan_(plan), binding_(binding), takes_indices_(takes_indices) {}

  Expected<std::vector<Part>> lower(std::uint32_t first, std::uint32_t last, bool in_branch) const {
    std::vector<Part> parts;
    for (std::uint32_t at = first; at < last; at = end_of_block(binding_, at)) {
      const Instruction& instruction = binding_.code[at];
      switch (instruction.op) {
        case Op::alias:
          parts.push_back(part_of_alias(binding_, binding_.aliases[instruction.index]));
          break;
        case Op::branch: {
          SCANLOOM_TRY(Part block, part_of_branch(at));
          parts.push_back(std::move(block));
          break;
        }
        case Op::charge:
          parts.push_back(part_of_charge(instruction.index));
          break;
        case Op::loop_begin: {
          SCANLOOM_TRY(Part block, part_of_loop(instruction.index, in_branch));
          parts.push_back(std::move(block));
          break;
        }
        case Op::call:
          add_call(plan_, binding_, instruction.index, takes_indices_, parts);
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
    return parts;
  }

 private:
  [[nodiscard]] Expected<Part> part_of_branch(std::uint32_t at) const {
    const BoundBranch& branch = binding_.branches[binding_.code[at].index];
    Part block;
    block.origins = {origin_of(branch.node)};
    block.statement.kind = Statement::Kind::branch;
    block.statement.condition = {
        branch.condition.slot, DType::boolean, branch.condition.offset, {}};
    block.reads.push_back(use_of(block.statement.condition, {}));
    const BranchRegions regions = regions_of(binding_, at);
    SCANLOOM_TRY(std::vector<Part> inner, lower(regions.then.first, regions.then.last, true));
    SCANLOOM_TRY(std::vector<Part> otherwise,
                 lower(regions.otherwise.first, regions.otherwise.last, true));
    SCANLOOM_TRY(block.statement.inner, close_block(std::move(inner), block));
    SCANLOOM_TRY(block.statement.otherwise, close_block(std::move(otherwise), block));
    return block;
  }

  [[nodiscard]] Expected<Part> part_of_loop(std::uint32_t index, bool in_branch) const {
    const BoundLoop& inner = binding_.loops[index];
    Part block;
    block.origins = {origin_of(inner.node)};
    block.statement.kind = Statement::Kind::loop;
    set_control(binding_, inner, block);
    set_ports(binding_, inner, block);
    SCANLOOM_TRY(std::vector<Part> steps, lower(inner.body, inner.exit - 1, in_branch));
    SCANLOOM_TRY(block.statement.inner, close_block(std::move(steps), block));
    if (in_branch || !has_known_trips(inner)) {
      block.statement.loop.index = static_cast<std::int32_t>(index);
      block.statement.loop.weight = 1 + counted_steps(block.statement.inner);
    }
    return block;
  }

  const Plan& plan_;
  const Binding& binding_;
  const bool takes_indices_;
};

}  // namespace

Expected<std::vector<Part>> parts_of_instructions(const Plan& plan, const Binding& binding,
                                                  std::uint32_t first, std::uint32_t last,
                                                  bool takes_indices) {
  return InstructionLowering(plan, binding, takes_indices).lower(first, last, false);
}

}  // namespace scanloom::plan
