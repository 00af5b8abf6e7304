// Machine code for the bodies of loops that are more than one element program. They are bound as
// all stepped loops are, and start so; the code takes over at the beginning of a step.
#include <algorithm>
#include <limits>
#include <utility>

#include "ops/ops.h"
#include "plan/binder.h"
#include "plan/body_source.h"
#include "plan/cost.h"
#include "plan/step_work.h"
#include "tensor/half.h"

namespace scanloom::plan {

namespace {

bool is_plain(const Spot& spot) { return !spot.is_dynamic() && !spot.is_object(); }

/// Whether all that the loop walks over has as many slices.
bool slices_agree(const Binding& binding, const BoundLoop& loop) {
  std::optional<std::int64_t> count;
  return std::ranges::all_of(loop.scanned, [&](const BoundScanned& port) {
    const std::int64_t own = slices_of(binding, port);
    return std::exchange(count, own).value_or(own) == own;
  });
}

/// What keeps a loop from being part of the code of the loop around it; empty: nothing.
std::string why_not_inside(const Binding& binding, const BoundLoop& loop) {
  const auto holds = [&](const char* what) {
    return fmt::format("holds {}, {}", describe(*binding.plan, loop.node), what);
  };
  if (loop.compiled.run != nullptr) return holds("a loop that is compiled by itself");
  for (const Spot* const control : {&loop.trip_operand, &loop.condition, &loop.keep_going})
    if (control->is_dynamic() || control->is_object())
      return holds("a loop whose trip count or condition has a size that depends on data");
  const bool states_move = std::ranges::any_of(loop.carried, [](const BoundCarried& port) {
    return port.buffer_a == kNone && !port.in_place;
  });
  const bool slices_move = std::ranges::any_of(loop.scanned, [](const BoundScanned& port) {
    return port.outer.is_dynamic() || port.argument.is_object();
  });
  const bool rows_move = std::ranges::any_of(loop.stacked, [](const BoundStacked& port) {
    return port.result.is_object() || (port.result.is_dynamic() && !port.open);
  });
  if (states_move || slices_move || rows_move)
    return holds("a loop over values whose sizes depend on data");
  if (std::ranges::any_of(loop.stacked, &BoundStacked::open))
    return holds("a loop of which only the run knows how many rows it stacks");
  if (loop.trip_count < 0 && !slices_agree(binding, loop))
    return holds("a loop over sequences of different lengths");
  return {};
}

/// What of a loop's own values keeps its body from becoming code; empty: nothing.
std::string why_not_over_values(const Plan& plan, const BoundLoop& loop) {
  const ir::Module& module = plan.module;
  const ir::Node& node = module.node(loop.node);
  const ir::Region& body = module.region(node.regions[0]);
  const auto depends = [](const std::string& name) {
    return fmt::format("is over {}, whose size depends on data", name);
  };
  for (std::size_t i = 0; i < loop.carried.size(); ++i)
    if (loop.carried[i].buffer_a == kNone && !loop.carried[i].in_place)
      return depends(module.describe(body.args[node.loop->captured + i]));
  for (std::size_t i = 0; i < loop.scanned.size(); ++i)
    if (!is_plain(loop.scanned[i].argument)) return depends(describe_scanned(module, loop.node, i));
  for (std::size_t i = 0; i < loop.stacked.size(); ++i) {
    const BoundStacked& port = loop.stacked[i];
    if (port.result.is_object() || (port.result.is_dynamic() && !port.open))
      return depends(module.describe(node.outputs[loop.carried.size() + i]));
  }
  return {};
}

/// The instructions of a loop's body, looked through for what machine code cannot be.
class BodyCheck {
 public:
  explicit BodyCheck(const Binding& binding) : binding_(binding) {}

  std::vector<Spot> spots;           ///< all that it reads and makes
  std::vector<Spot> spots_in_parts;  ///< of which a step touches a small part
  std::vector<SlotId> state_buffers;
  std::int64_t inner_steps = 0, steps_between_looks = 0, most_inner_trips = 0;
  bool decides_late = false;
  bool looks = false;  ///< holds loops that look at limits themselves
  std::size_t calls = 0;
  std::int64_t spent = 0;  ///< ns that are counted, by both sides of branches

  /// Returns what keeps instructions [first, last) from becoming code; empty: nothing.
  std::string look_through(std::size_t first, std::size_t last) {
    int blocks = 0;
    for (std::size_t at = first; at < last; ++at) {
      const Instruction& instruction = binding_.code[at];
      const bool opens = instruction.op == Op::branch || instruction.op == Op::loop_begin;
      if (opens && ++blocks > kMaxBlocksOfBody)
        return fmt::format("holds more than {} branches and loops", kMaxBlocksOfBody);
      if (std::string why = look_at(at, instruction); !why.empty()) return why;
    }
    return {};
  }

 private:
  std::string look_at(std::size_t at, const Instruction& instruction) {
    while (!repeats_.empty() && at >= repeats_.back().end) repeats_.pop_back();
    switch (instruction.op) {
      case Op::call:
        ++calls;
        add_call(binding_.calls[instruction.index]);
        return {};
      case Op::branch:
        end_of_branches_ = std::max(end_of_branches_, end_of(binding_.branches[instruction.index]));
        return {};
      case Op::loop_begin:
        return enter(at, binding_.loops[instruction.index]);
      case Op::spend:
        spent += instruction.index;
        return {};
      case Op::loop_end:
      case Op::jump:
        return {};
      case Op::alias:
        return add_alias(binding_.aliases[instruction.index]);
      case Op::compiled_loop:
        return why_not_inside(binding_, binding_.loops[instruction.index]);
      case Op::object_call:
        return fmt::format("holds {}, which reads or makes a sequence, an optional or a string",
                           describe(*binding_.plan, binding_.object_calls[instruction.index].node));
      case Op::fault:
        return "holds a part that cannot run";
      case Op::dynamic_call:
        return fmt::format(
            "holds {}, whose sizes depend on data",
            describe(*binding_.plan, binding_.dynamic_calls[instruction.index].call.node));
      case Op::check_sizes:
      case Op::look:
      case Op::region:
      case Op::end:
        break;
    }
    return "holds a part whose sizes depend on data";
  }

  /// Where the code goes on behind both sides.
  [[nodiscard]] std::size_t end_of(const BoundBranch& branch) const {
    return binding_.code[branch.otherwise - 1].index;
  }

  void add_call(const BoundCall& call) {
    for (std::size_t i = 0; i < std::size_t{call.inputs} + call.outputs; ++i) {
      const bool own = call.products_beside == 0 || i < 2 || i == call.inputs;
      (own ? spots : spots_in_parts).push_back(binding_.operands[call.first_operand + i]);
    }
  }

  std::string add_alias(const Alias& alias) {
    if (!is_plain(alias.from) || !is_plain(alias.to))
      return "holds a part whose sizes depend on data";
    spots.push_back(alias.from);
    return {};
  }

  std::string enter(std::size_t at, const BoundLoop& loop) {
    if (std::string why = why_not_inside(binding_, loop); !why.empty()) return why;
    const bool counted = has_known_trips(loop) && at >= end_of_branches_;
    // Of others, each step is followed by a look when it is time.
    std::int64_t times = counted ? std::min(loop.trip_count, kMaxInnerSteps + 1) : 1;
    for (const Repeat& repeat : repeats_)
      times = std::min(times * repeat.trips, kMaxInnerSteps + 1);
    steps_between_looks += times;
    if (counted && std::ranges::all_of(repeats_, &Repeat::counted)) inner_steps += times;
    decides_late |= loop.source != nullptr;
    looks |= !counted;
    if (counted) most_inner_trips = std::max(most_inner_trips, loop.trip_count);
    if (steps_between_looks > kMaxInnerSteps)
      return fmt::format("holds loops of more than {} steps", kMaxInnerSteps);
    repeats_.push_back({loop.exit, counted ? loop.trip_count : 1, counted});
    for (const Spot* const control : {&loop.trip_operand, &loop.condition, &loop.keep_going})
      if (control->present()) spots.push_back(*control);
    for (const BoundCarried& port : loop.carried) {
      spots.push_back(port.initial);
      if (!port.in_place) state_buffers.insert(state_buffers.end(), {port.buffer_a, port.buffer_b});
    }
    for (const BoundScanned& port : loop.scanned) spots.push_back(port.outer);
    for (const BoundStacked& port : loop.stacked) spots.push_back(port.result);
    return {};
  }

  /// A loop whose body the instructions at hand are in.
  struct Repeat {
    std::size_t end;
    std::int64_t trips;  ///< 1 where the run decides
    bool counted;
  };

  const Binding& binding_;
  std::vector<Repeat> repeats_;
  std::size_t end_of_branches_ = 0;
};

/// Behind the branch or loop that begins at that instruction, or behind the instruction.
std::uint32_t end_of_block(const Binding& binding, std::uint32_t at) {
  const Instruction& instruction = binding.code[at];
  if (instruction.op == Op::branch)
    return binding.code[binding.branches[instruction.index].otherwise - 1].index;
  return instruction.op == Op::loop_begin ? binding.loops[instruction.index].exit : at + 1;
}

/// Whether its steps, with those that were stepped before, show that code of its body pays.
bool pays_now(const BoundLoop& loop) {
  return loop.trip_count > loop.steps_to_compile - loop.stepped->load();
}

/// Whether its steps run in code of a part of a loop around it.
bool is_in_region(const Binding& binding, const BoundLoop& loop) {
  return std::ranges::any_of(binding.regions, [&](const BoundRegion& region) {
    return region.code.code.run != nullptr && region.first < loop.body && loop.exit <= region.last;
  });
}

}  // namespace

/// Values of a body that may become machine code get memory of their own for as long as the loop
/// runs: joined nests read and write them in another order than the instructions do. Otherwise the
/// loop learns why not, and parts of the body may become code.
void Binder::keep_apart(BoundLoop& loop, std::uint32_t index) {
  if (plan_->options.compiler == nullptr) return;
  const auto end = static_cast<std::uint32_t>(out_->code.size());
  if (const std::size_t count = end - loop.body; count > kMaxStatementsOfBody) {
    loop.why_no_body = fmt::format("has {} instructions, {} are the most that are compiled at once",
                                   count, kMaxStatementsOfBody);
    return;
  }
  BodyCheck check(*out_);
  loop.why_no_body = check.look_through(loop.body, end);
  if (loop.why_no_body.empty()) loop.why_no_body = why_not_over_values(*plan_, loop);
  if (!loop.why_no_body.empty()) {
    find_regions(loop, index);
    return;
  }
  const std::int64_t bytes = bytes_touched(check.spots, loop);
  const std::int64_t most = check.steps_between_looks > 0 ? kMaxBytesOfNest : kMaxBytesOfBody;
  if (bytes > most) {
    loop.why_no_body =
        fmt::format("has operands of {} bytes, {} are the most of a compiled body", bytes, most);
    return;
  }
  for (const auto* spots : {&check.spots, &check.spots_in_parts})
    for (const Spot& spot : *spots)
      if (spot.buffer != kNone) arena_.use(spot.buffer);
  for (const SlotId slot : check.state_buffers) arena_.use(buffer_of(slot));
  loop.inner_steps = check.inner_steps;
  loop.steps_between_looks = check.steps_between_looks;
  loop.decides_late = check.decides_late;
  loop.most_inner_trips = check.most_inner_trips;
}

/// Of values in the arena, but for states that are updated in place: steps touch a few of their
/// elements.
std::int64_t Binder::bytes_touched(const std::vector<Spot>& spots, const BoundLoop& loop) const {
  const auto is_state = [&](const Spot& spot) {
    return std::ranges::any_of(loop.carried, [&](const BoundCarried& port) {
      return port.in_place && port.argument.buffer == spot.buffer;
    });
  };
  std::int64_t bytes = 0;
  for (const Spot& spot : spots)
    if (spot.buffer != kNone && !is_state(spot))
      bytes += layout(spot).dims.elements() * bytes_of(spot.dtype);
  return bytes;
}

/// All live together at the last instruction before `last`, so that none shares memory.
void Binder::keep_buffers(const std::vector<Spot>& spots, const std::vector<SlotId>& state_buffers,
                          std::uint32_t last) {
  const auto moment = static_cast<std::int32_t>(last) - 1;
  for (const Spot& spot : spots)
    if (spot.buffer != kNone) arena_.keep_until(spot.buffer, moment);
  for (const SlotId slot : state_buffers) arena_.keep_until(buffer_of(slot), moment);
}

/// Instructions [first, last) of the body as a region, where that may become code and pays.
void Binder::add_region(BoundLoop& loop, std::uint32_t index, std::uint32_t first,
                        std::uint32_t last) {
  BodyCheck check(*out_);
  if (!check.look_through(first, last).empty() || check.calls < kLeastCallsOfRegion) return;
  const std::int64_t most = check.inner_steps > 0 ? kMaxBytesOfNest : kMaxBytesOfBody;
  if (loop.regions.size() == kMaxRegions || bytes_touched(check.spots, loop) > most) return;
  keep_buffers(check.spots, check.state_buffers, last);
  keep_buffers(check.spots_in_parts, {}, last);
  loop.regions.push_back(static_cast<std::uint32_t>(out_->regions.size()));
  out_->regions.push_back({.loop = index,
                           .first = first,
                           .last = last,
                           .inner_steps = check.inner_steps,
                           .most_inner_trips = check.most_inner_trips,
                           .spent = check.spent});
}

/// The longest runs of instructions that may become code, between those that may not. A branch that
/// may not is one of these, but for what its sides hold; a loop looks after itself.
void Binder::find_regions(BoundLoop& loop, std::uint32_t index) {
  struct Range {
    std::uint32_t first, last;
  };
  std::vector<Range> ranges{{loop.body, static_cast<std::uint32_t>(out_->code.size())}};
  while (!ranges.empty()) {
    const Range range = ranges.back();
    ranges.pop_back();
    std::uint32_t begin = range.first;
    for (std::uint32_t at = range.first, next = at; at < range.last; at = next) {
      next = end_of_block(*out_, at);
      if (BodyCheck check(*out_); check.look_through(at, next).empty() && !check.looks) continue;
      add_region(loop, index, begin, at);
      begin = next;
      if (out_->code[at].op != Op::branch) continue;
      const std::uint32_t otherwise = out_->branches[out_->code[at].index].otherwise;
      ranges.push_back({at + 1, otherwise - 1});
      ranges.push_back({otherwise, next});
    }
    add_region(loop, index, begin, range.last);
  }
}

double Binder::step_nanoseconds(const BoundLoop& loop) const {
  return (kNanosecondsPerCall + nanoseconds_of(loop.body, loop.exit - 1)) *
         (1 + static_cast<double>(loop.steps_between_looks));
}

double Binder::nanoseconds_of(std::uint32_t first, std::uint32_t last) const {
  double sum = 0;
  for (std::uint32_t at = first; at < last; ++at) {
    const Instruction& instruction = out_->code[at];
    if (instruction.op == Op::call) sum += call_nanoseconds(out_->calls[instruction.index]);
  }
  return sum;
}

double Binder::whole_step_nanoseconds(const BoundLoop& loop) const {
  struct Inside {
    std::uint32_t exit;
    double times;
  };
  std::vector<Inside> inside{{loop.exit, 1}};
  double sum = 0;
  for (std::uint32_t at = loop.body; at + 1 < loop.exit; ++at) {
    while (at >= inside.back().exit) inside.pop_back();
    const Instruction& instruction = out_->code[at];
    if (instruction.op == Op::loop_begin) {
      const BoundLoop& inner = out_->loops[instruction.index];
      const auto trips = static_cast<double>(std::max<std::int64_t>(inner.trip_count, 1));
      inside.push_back({inner.exit, inside.back().times * trips});
    }
    if (instruction.op == Op::call)
      sum += inside.back().times * call_nanoseconds(out_->calls[instruction.index]);
  }
  return sum;
}

double Binder::call_nanoseconds(const BoundCall& call) const {
  const CallWork work = work_of(*out_, call);
  if (work.products > 0) return kNanosecondsPerCall + work.products * kNanosecondsPerProduct;
  const Spot* const spots = out_->operands.data() + call.first_operand;
  const bool of_halves =
      std::any_of(spots, spots + call.inputs + call.outputs,
                  [](const Spot& spot) { return spot.present() && tensor::is_half(spot.dtype); });
  return kNanosecondsPerCall +
         work.elements * (of_halves ? kNanosecondsPerHalf : kNanosecondsPerElement);
}

/// As above, but for operators that take far longer than the elements of their operands say.
double Binder::most_nanoseconds(const BoundCall& call) const {
  const auto elements = [&](std::size_t i) {
    const Spot& spot = out_->operands[call.first_operand + i];
    return spot.present() ? static_cast<double>(layout(spot).dims.elements()) : 0;
  };
  const auto size = [&](std::size_t i, int axis) {
    const tensor::Shape& dims = layout(out_->operands[call.first_operand + i]).dims;
    return axis < dims.rank() ? static_cast<double>(std::max<std::int64_t>(dims[axis], 1)) : 1.0;
  };
  const ir::OpDef* const op = call.is_copy ? nullptr : module_.node(call.node).op;
  double products = 0;
  if (op == &ops::conv_op || op == &ops::conv_transpose_op)
    products = std::max(elements(0), elements(call.inputs)) * elements(1) / size(1, 0);
  if (op == &ops::qlinear_conv_op) products = elements(call.inputs) * elements(3) / size(3, 0);
  if (op == &ops::lstm_op || op == &ops::gru_op || op == &ops::rnn_op)
    products = elements(0) / size(0, 2) * (elements(1) + elements(2));
  return call_nanoseconds(call) + products * kNanosecondsPerProduct;
}

void Binder::emit_spend(double nanoseconds) {
  constexpr double kMost = 4e9;
  emit(Op::spend, static_cast<std::uint32_t>(std::min(nanoseconds, kMost)));
}

/// Behind a side of a branch, which begins at instruction `first`: what its calls take, but for
/// those that are counted already. Loops inside have looks of their own, branches sides.
void Binder::spend_side(std::uint32_t first) {
  double sum = 0;
  for (std::size_t at = first; at < out_->code.size(); ++at) {
    const Instruction& instruction = out_->code[at];
    if (instruction.op == Op::branch)
      at = out_->code[out_->branches[instruction.index].otherwise - 1].index - 1;
    else if (instruction.op == Op::loop_begin)
      at = out_->loops[instruction.index].exit - 1;
    else if (instruction.op == Op::call)
      if (const double one = most_nanoseconds(out_->calls[instruction.index]);
          one < kLeastSpentByCall)
        sum += one;
  }
  if (sum >= kLeastSpentBySide) emit_spend(sum);
}

void Binder::compile_bodies() {
  if (plan_->options.compiler == nullptr) return;
  std::uint32_t end = 0;  // of the last one that has become code, with all loops inside
  for (BoundLoop& loop : out_->loops) {
    if (loop.compiled.run != nullptr) continue;
    const double step = step_nanoseconds(loop);
    if (step > kMaxNanosecondsBetweenLooks && loop.why_no_body.empty())
      loop.why_no_body = loop.steps_between_looks > 0
                             ? "holds loops that take too long between two looks at limits"
                             : "holds parts that take too long between two looks at limits";
    loop.steps_to_compile =
        plan_->options.always_compile ? 1 : steps_worth_compiling(loop.exit - loop.body, step);
    if (loop.exit <= end || is_in_region(*out_, loop)) {
      // Its steps run in the code of the loop around it, but for those of that loop's first step.
      if (has_known_trips(loop) && loop.trip_count <= kMaxInnerSteps)
        loop.steps_to_compile = std::numeric_limits<std::int64_t>::max();
      continue;
    }
    if (stopped_) return;
    if (!loop.regions.empty()) {
      compile_regions(loop);
      continue;
    }
    if (!pays_now(loop) || loop.decides_late) continue;
    Expected<BodyCode> body = compile_body(*plan_, *out_, loop, may_go_on_);
    if (!body && is_of_limits(body.error())) {
      stopped_ = std::move(body).error().at(module_.describe(loop.node));
      return;
    }
    if (!body) continue;  // describe_strategy says why
    end = loop.exit;
    loop.body_code = *std::move(body);
    loop.strategy = "compiled step by step: " + loop.body_code.code.target;
  }
}

void Binder::compile_regions(BoundLoop& loop) {
  double nanoseconds = 0;
  std::size_t instructions = 0;
  for (const std::uint32_t index : loop.regions) {
    const BoundRegion& region = out_->regions[index];
    nanoseconds +=
        nanoseconds_of(region.first, region.last) * (1 + static_cast<double>(region.inner_steps));
    instructions += region.last - region.first;
  }
  if (!plan_->options.always_compile)
    loop.steps_to_compile = steps_worth_compiling(instructions, nanoseconds);
  if (nanoseconds > kMaxNanosecondsBetweenLooks) loop.regions.clear();
  if (!pays_now(loop)) return;
  for (const std::uint32_t index : loop.regions) {
    BoundRegion& region = out_->regions[index];
    Expected<BodyCode> code = compile_region(*plan_, *out_, region, may_go_on_);
    if (!code && is_of_limits(code.error())) {
      stopped_ = std::move(code).error().at(module_.describe(loop.node));
      return;
    }
    if (!code) continue;
    region.code = *std::move(code);
    loop.strategy = "compiled in parts: " + region.code.code.target;
  }
}

namespace {

Expected<BodyCode> compile_source(const Plan& plan, Body body, const MayGoOn& may_go_on) {
  const jit::Plugin* const compiler = plan.options.compiler;
  if (may_go_on) jit::load(*compiler);
  SCANLOOM_TRY(jit::CompiledBody code,
               plan.bodies.get(body.source, may_go_on, [compiler, source = body.source] {
                 return compiler->compile_body(source);
               }));
  return BodyCode{std::move(code), std::move(body.numbers)};
}

}  // namespace

Expected<BodyCode> compile_body(const Plan& plan, const Binding& binding, const BoundLoop& loop,
                                const MayGoOn& may_go_on) {
  SCANLOOM_TRY(Body body, describe_body(plan, binding, loop));
  return compile_source(plan, std::move(body), may_go_on);
}

Expected<BodyCode> compile_region(const Plan& plan, const Binding& binding,
                                  const BoundRegion& region, const MayGoOn& may_go_on) {
  SCANLOOM_TRY(Body body, describe_region(plan, binding, region));
  return compile_source(plan, std::move(body), may_go_on);
}

Expected<TimedBody> compile_timed_body(const Plan& plan, const Binding& binding,
                                       const BoundLoop& loop, const MayGoOn& may_go_on) {
  SCANLOOM_TRY(Body body, describe_body(plan, binding, loop));
  body.source.timed = true;
  std::vector<std::vector<ir::NodeId>> nodes = std::move(body.nodes);
  SCANLOOM_TRY(BodyCode code, compile_source(plan, std::move(body), may_go_on));
  return TimedBody{std::move(code), std::move(nodes)};
}

}  // namespace scanloom::plan
