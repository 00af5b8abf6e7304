#include "plan/bind/loops.h"

#include <algorithm>

#include "plan/bind/blocks.h"
#include "plan/bind/body_legality.h"
#include "plan/bind/branches.h"
#include "plan/bind/in_place.h"
#include "plan/bind/loop_ports.h"
#include "plan/bind/parallel_steps.h"
#include "plan/bind/pipelined_projection.h"
#include "plan/bind/speculation.h"
#include "plan/bind/stacks.h"
#include "plan/bind/step_time.h"
#include "plan/bind/walk.h"
#include "plan/bind/whole_loop.h"
#include "plan/cost.h"

namespace scanloom::plan {
namespace {

Expected<BoundLoop> bind_controls(BindContext& ctx, ir::NodeId id) {
  const ir::Node& node = ctx.module.node(id);
  const ir::LoopPorts& ports = *node.loop;
  BoundLoop loop;
  loop.node = id;
  // Without a trip count there is a step per slice.
  loop.has_trip_count = ports.has_trip_count || !ports.scanned.empty();
  loop.trip_count = known_trip_count(ctx, id);
  if (ports.has_trip_count) {
    SCANLOOM_TRY(const Location trip, control_operand(ctx, id, node.inputs[0], "trip count"));
    loop.trip_operand = trip.spot;
  }
  if (ports.has_condition) {
    const ir::ValueId input = node.inputs[std::size_t{ports.has_trip_count}];
    SCANLOOM_TRY(const Location condition, control_operand(ctx, id, input, "condition"));
    loop.condition = condition.spot;
  }
  return loop;
}

/// Returns the key of what runs learn about the loop, the same for bindings whose steps have the
/// same sizes, however many steps they take.
std::string key_of_steps(const BindContext& ctx, ir::NodeId id) {
  std::string key = std::to_string(id.index);
  for (const ir::ValueId argument : ctx.module.region(ctx.module.node(id).regions[0]).args) {
    const bool is_known = !ctx.values.is_object(argument) && ctx.values.is_static(argument);
    key += is_known ? ctx.values.type(argument).shape().to_string() : "?";
  }
  return key;
}

void find_speculation(const BindContext& ctx, BoundLoop& loop) {
  find_speculation(ctx, loop, ctx.plan->speculations.of(key_of_steps(ctx, loop.node)));
}

/// Declares what a loop's instruction reads before any step: its controls and the block buffers.
void read_operands(BindContext& ctx, InstructionScope& instruction, const BoundLoop& loop) {
  const ir::Node& node = ctx.module.node(loop.node);
  for (const BufferId buffer : loop.blocks.buffers) instruction.use(buffer);
  for (std::uint32_t i = 0; i < node.loop->first_captured_input(); ++i)
    instruction.read(ctx.values.at(node.inputs[i]));
}

/// Whole-loop code reads captured values itself, whenever it takes over.
void bind_reads_of_code(BindContext& ctx, InstructionScope& instruction,
                        const std::vector<ir::ValueId>& captured, BoundLoop& loop) {
  for (const ir::ValueId value : captured) {
    const Location location = ctx.values.at(value);
    instruction.read(location);
    loop.whole->captured.push_back(location.spot);
  }
}

void emit_whole(BindContext& ctx, BoundLoop loop, const std::vector<ir::ValueId>& captured,
                const std::vector<Location>& initial, const std::vector<PortSlices>& slices,
                const BlockCode& blocks) {
  std::vector<BoundLoop>& loops = ctx.builder.binding().loops;
  const std::size_t index = loops.size();
  {
    InstructionScope instruction(ctx.builder, Op::compiled_loop, index);
    read_operands(ctx, instruction, loop);
    bind_reads_of_code(ctx, instruction, captured, loop);
    bind_scanned(ctx, instruction, loop, slices);
    bind_stacked(ctx, instruction, loop);
    bind_carried(ctx, instruction, loop, initial, std::nullopt);
    bind_operands_of_stacks(ctx, instruction, loop);
    if (ctx.builder.loop_depth() == 0) find_speculation(ctx, loop);
    loops.push_back(std::move(loop));
  }
  append_blocks(ctx, blocks, loops[index]);
  loops[index].exit = ctx.builder.next();
}

/// Returns the loop's index in Binding::loops.
std::uint32_t emit_begin(BindContext& ctx, BoundLoop loop, const std::vector<ir::ValueId>& captured,
                         const std::vector<Location>& initial,
                         const std::optional<InPlaceStates>& in_place,
                         const std::vector<PortSlices>& slices, const BlockCode& blocks) {
  std::vector<BoundLoop>& loops = ctx.builder.binding().loops;
  const std::size_t index = loops.size();
  {
    InstructionScope instruction(ctx.builder, Op::loop_begin, index);
    read_operands(ctx, instruction, loop);
    if (loop.whole) bind_reads_of_code(ctx, instruction, captured, loop);
    bind_carried(ctx, instruction, loop, initial, in_place);
    bind_scanned(ctx, instruction, loop, slices);
    bind_stacked(ctx, instruction, loop);
    bind_operands_of_stacks(ctx, instruction, loop);
    loops.push_back(std::move(loop));
  }
  append_blocks(ctx, blocks, loops[index]);
  ctx.builder.open_loop(loops[index].blocks.buffers);
  loops[index].body = ctx.builder.next();
  return static_cast<std::uint32_t>(index);
}

/// Sets after how many stepped steps compiling the body pays. A body whose step takes too long is
/// not compiled.
void find_steps_to_compile(const BindContext& ctx, BoundLoop& loop) {
  PerStepCode& code = loop.per_step;
  const Binding& binding = ctx.builder.binding();
  const double step = step_nanoseconds(binding, loop);
  if (step > kMaxNanosecondsBetweenPolls && !code.refusal)
    code.refusal = code.steps_between_polls > 0
                       ? "holds loops that take too long between two polls of the limits"
                       : "holds parts that take too long between two polls of the limits";
  code.steps_to_compile =
      ctx.plan->options.always_compile
          ? 1
          : steps_worth_compiling(loop.exit - loop.body, compilable_nanoseconds(binding, loop));
}

/// Only an outermost loop can have parallel steps: the further out threads are used, the more work
/// each has.
void find_parallel_steps(const BindContext& ctx, BoundLoop& loop) {
  const bool rows_have_a_place = std::ranges::all_of(loop.stacked, [](const BoundStacked& port) {
    return port.apart || port.open || is_static_tensor(port.result);
  });
  if (ctx.builder.loop_depth() != 1 || !rows_have_a_place) return;
  auto roles = parallel_steps(ctx.module, loop.node, ctx.inference, ctx.values.uses());
  if (!roles) return;
  const bool groups =
      !loop.scanned.empty() && std::ranges::all_of(loop.scanned, [&](const BoundScanned& port) {
        return port.slices.part > 1 && port.slices.part == port.slices.stride;
      });
  if (groups)
    loop.notes.remarks = fmt::format("; each step is a group of {}", loop.scanned[0].slices.part);
  loop.notes.remarks += "; long steps run in parallel";
  loop.notes.strategy += loop.notes.remarks;
  loop.parallel = ParallelSteps{.carried = *std::move(roles),
                                .nanoseconds = whole_step_nanoseconds(ctx.builder.binding(), loop)};
  if (loop.per_step.inner_steps >= kMinStepsApart)
    loop.per_step.refusal = Refusal(
        fmt::format("holds loops of {} steps, which are compiled", loop.per_step.inner_steps));
}

}  // namespace

Expected<void> bind_loop(BindContext& ctx, ir::NodeId id) {
  align(ctx.builder, ctx.values.of_inputs(ctx.module.node(id)));
  SCANLOOM_TRY(BoundLoop loop, bind_controls(ctx, id));
  if (ctx.plan->options.compiler != nullptr)
    loop.stepped = ctx.plan->steps.of(key_of_steps(ctx, id));
  const BlockPlan block_plan = take_block_plan(ctx, id, loop);
  std::optional<InPlaceStates> in_place = in_place_states(ctx.module, id, ctx.inference);
  const ir::RegionId body = ctx.module.node(id).regions[0];
  const std::vector<ir::NodeId>& nodes = in_place ? in_place->order : ctx.module.region(body).nodes;
  if (!block_plan.is_empty()) ctx.pipeline = pipeline_of(ctx, loop, nodes);
  SCANLOOM_TRY(const BlockCode blocks, bind_blocks(ctx, block_plan, loop));
  const std::vector<Location> initial = straight_states(ctx, id, in_place);
  bind_captured(ctx, id);
  SCANLOOM_TRY(const std::vector<PortSlices> slices, slices_of_ports(ctx, id, loop));
  LoopForm form = choose_form(ctx, loop, initial, slices);
  loop.whole = std::move(form.whole);
  loop.notes.strategy = std::move(form.strategy);
  loop.notes.why_not_whole_loop = std::move(form.refusal);
  if (!block_plan.is_empty() && ctx.pipeline) ctx.pipeline->note(loop);
  if (loop.is_compiled_whole()) {
    emit_whole(ctx, std::move(loop), form.captured, initial, slices, blocks);
    return {};
  }
  const bool certain = loop.trip_count > 0 && !loop.condition.present();
  const std::uint32_t index =
      emit_begin(ctx, std::move(loop), form.captured, initial, in_place, slices, blocks);
  push_region(ctx, {.region = body,
                    .kind = RegionFrame::Kind::loop_body,
                    .node = id,
                    .index = index,
                    .certain = certain,
                    .order = in_place ? std::move(in_place->order) : std::vector<ir::NodeId>()});
  return {};
}

Expected<void> finish_loop(BindContext& ctx, RegionFrame& frame) {
  const ir::Node& node = ctx.module.node(frame.node);
  // Moved out and stored again below: nested loops have grown the list.
  BoundLoop loop = std::move(ctx.builder.binding().loops[frame.index]);
  std::vector<Location> read;
  if (!frame.trapped) {
    finish_carried(ctx, frame.index, loop);
    read = finish_stacked(ctx, loop);
  }
  if (node.loop->has_keep_going && !frame.trapped) {
    const ir::ValueId yield = ctx.module.region(frame.region).yields[0];
    SCANLOOM_TRY(const Location keep_going,
                 control_operand(ctx, frame.node, yield, "condition of the next step"));
    loop.keep_going = keep_going.spot;
    read.push_back(keep_going);
  }
  {
    InstructionScope instruction(ctx.builder, Op::loop_end, frame.index);
    for (const Location& location : read) instruction.read(location);
    for (const BoundCarried& port : loop.carried)
      if (port.in_place) {
        instruction.use(port.argument.buffer);
      } else if (port.buffer_a != kNone) {
        instruction.use(ctx.builder.buffer_of(port.buffer_a));
        instruction.use(ctx.builder.buffer_of(port.buffer_b));
      }
    find_body_code(ctx, instruction, loop, frame.index);
  }
  loop.exit = ctx.builder.next();
  find_parallel_steps(ctx, loop);
  if (ctx.plan->options.compiler != nullptr) find_steps_to_compile(ctx, loop);
  if (ctx.builder.loop_depth() == 1) find_speculation(ctx, loop);
  ctx.builder.close_loop();
  ctx.builder.binding().loops[frame.index] = std::move(loop);
  return {};
}

}  // namespace scanloom::plan
