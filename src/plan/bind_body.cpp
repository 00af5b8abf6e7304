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
  if (loop.compiled.run != nullptr) return "holds a loop that is compiled by itself";
  for (const Spot* const control : {&loop.trip_operand, &loop.condition, &loop.keep_going})
    if (control->is_dynamic() || control->is_object())
      return "holds a loop whose trip count or condition has a size that depends on data";
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
    return "holds a loop over values whose sizes depend on data";
  if (std::ranges::any_of(loop.stacked, &BoundStacked::open))
    return "holds a loop of which only the run knows how many rows it stacks";
  if (loop.trip_count < 0 && !slices_agree(binding, loop))
    return "holds a loop over sequences of different lengths";
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
        add_call(binding_.calls[instruction.index]);
        return {};
      case Op::branch:
        end_of_branches_ = std::max(end_of_branches_, end_of(binding_.branches[instruction.index]));
        return {};
      case Op::loop_begin:
        return enter(at, binding_.loops[instruction.index]);
      case Op::loop_end:
      case Op::jump:
      case Op::spend:
        return {};
      case Op::alias:
        return add_alias(binding_.aliases[instruction.index]);
      case Op::compiled_loop:
        return why_not_inside(binding_, binding_.loops[instruction.index]);
      case Op::object_call:
        return "holds a sequence, an optional or a string";
      case Op::fault:
        return "holds a part that cannot run";
      case Op::dynamic_call:
      case Op::check_sizes:
      case Op::look:
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

}  // namespace

/// Values of a body that may become machine code get memory of their own for as long as the loop
/// runs: joined nests read and write them in another order than the instructions do. Otherwise the
/// loop learns why not.
void Binder::keep_apart(BoundLoop& loop) {
  if (plan_->options.compiler == nullptr) return;
  const std::size_t count = out_->code.size() - loop.body;
  if (count > kMaxStatementsOfBody) {
    loop.why_no_body = fmt::format("has {} instructions, {} are the most that are compiled at once",
                                   count, kMaxStatementsOfBody);
    return;
  }
  BodyCheck check(*out_);
  loop.why_no_body = check.look_through(loop.body, out_->code.size());
  if (!loop.why_no_body.empty()) return;
  std::int64_t bytes = 0;
  // Of a state that is updated in place, steps touch a few elements.
  const auto is_state = [&](const Spot& spot) {
    return std::ranges::any_of(loop.carried, [&](const BoundCarried& port) {
      return port.in_place && port.argument.buffer == spot.buffer;
    });
  };
  for (const Spot& spot : check.spots)
    if (spot.buffer != kNone && !is_state(spot))
      bytes += layout(spot).dims.elements() * static_cast<std::int64_t>(dtype_bytes(spot.dtype));
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

double Binder::step_nanoseconds(const BoundLoop& loop) const {
  double sum = kNanosecondsPerCall;
  for (std::uint32_t at = loop.body; at + 1 < loop.exit; ++at) {
    const Instruction& instruction = out_->code[at];
    if (instruction.op == Op::call) sum += call_nanoseconds(out_->calls[instruction.index]);
  }
  return sum * (1 + static_cast<double>(loop.steps_between_looks));
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
  return kNanosecondsPerCall + (work.products > 0 ? work.products * kNanosecondsPerProduct
                                                  : work.elements * kNanosecondsPerElement);
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
    if (loop.exit <= end) {
      // Its steps run in the code of the loop around it, but for those of that loop's first step.
      if (has_known_trips(loop) && loop.trip_count <= kMaxInnerSteps)
        loop.steps_to_compile = std::numeric_limits<std::int64_t>::max();
      continue;
    }
    if (loop.trip_count <= loop.steps_to_compile || loop.decides_late) continue;
    if (stopped_) return;
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

Expected<TimedBody> compile_timed_body(const Plan& plan, const Binding& binding,
                                       const BoundLoop& loop, const MayGoOn& may_go_on) {
  SCANLOOM_TRY(Body body, describe_body(plan, binding, loop));
  body.source.timed = true;
  std::vector<std::vector<ir::NodeId>> nodes = std::move(body.nodes);
  SCANLOOM_TRY(BodyCode code, compile_source(plan, std::move(body), may_go_on));
  return TimedBody{std::move(code), std::move(nodes)};
}

}  // namespace scanloom::plan
