// The compiled strategy: a loop whose whole body is one element program over equal lanes becomes a
// single machine-code call. This file describes such loops to the compiler; src/jit knows the rest.
#include <algorithm>

#include "plan/bind/binder.h"
#include "plan/codegen/body_program.h"
#include "plan/cost.h"
#include "tensor/half.h"
#include "tensor/scalar_functions.h"

namespace scanloom::plan {
namespace {

/// The one stride that walks all elements of a layout in row-major order; nullopt if there is none.
std::optional<std::int64_t> lane_stride(const Layout& layout) {
  std::int64_t stride = 0, next = 0;
  bool found = false;
  for (int axis = layout.dims.rank() - 1; axis >= 0; --axis) {
    if (layout.dims[axis] == 1) continue;
    if (!found) {
      stride = layout.strides[axis];
      found = true;
    } else if (layout.strides[axis] != next) {
      return std::nullopt;
    }
    next = layout.strides[axis] * layout.dims[axis];
  }
  return stride;
}

void append_bytes(std::string& key, const void* data, std::size_t size) {
  key.append(static_cast<const char*>(data), size);
}

/// Two sources with equal keys compile to the same code.
std::string key_of(const jit::LoopSource& source) {
  std::string key;
  const auto number = [&](std::int64_t value) { append_bytes(key, &value, sizeof value); };
  number(source.lanes);
  number(source.has_keep_going), number(static_cast<int>(source.isa));
  for (const auto* list : {&source.captured, &source.carried, &source.scanned, &source.stacked}) {
    number(static_cast<std::int64_t>(list->size()));
    for (const jit::LoopOperand& operand : *list)
      number(static_cast<int>(operand.dtype)), number(operand.lane_stride);
  }
  for (const tensor::ScalarInstr& instr : source.program.instrs) {
    number(static_cast<int>(instr.op)), number(static_cast<int>(instr.dtype));
    for (const std::int32_t arg : instr.args) number(arg);
    number(static_cast<std::int64_t>(instr.bits));
  }
  for (const std::int32_t result : source.program.results) number(result);
  return key;
}

/// What kernels take, on average over the program's instructions.
double nanoseconds_of(const tensor::ScalarProgram& program) {
  const auto count = static_cast<double>(std::max<std::size_t>(program.instrs.size(), 1));
  const auto halves = static_cast<double>(std::ranges::count_if(
      program.instrs,
      [](const tensor::ScalarInstr& instr) { return tensor::is_half(instr.dtype); }));
  return nanoseconds_per_element(halves / count);
}

/// From how many steps on compiling the body, of so many nodes, pays: of each of many executions,
/// and, however few each takes, in all. `least`: below them an execution is short.
struct StepsThatPay {
  std::int64_t at_once, in_all;

  StepsThatPay(const BodyProgram& body, std::size_t nodes, std::size_t states, std::int64_t least) {
    const auto instructions = static_cast<double>(body.program.instrs.size());
    const auto lanes = static_cast<double>(body.lanes);
    const double compiling = loop_compile_nanoseconds(body.program.instrs.size(), states);
    const double step = static_cast<double>(std::max<std::size_t>(nodes, 1)) *
                        (kNanosecondsPerCall + nanoseconds_of(body.program) * lanes);
    in_all = static_cast<std::int64_t>(compiling / step) + 1;
    const double operations = std::max(instructions * lanes, 1.0);
    at_once = std::min(least, static_cast<std::int64_t>(kMinOperationsToCompile / operations) + 1);
    if (compiling > kBriefCompileNanoseconds) at_once = std::max(at_once, in_all);
  }
};

/// About how long one step takes as machine code, at least.
double step_nanoseconds_of(const BodyProgram& body) {
  double one = 0;
  for (const tensor::ScalarInstr& instr : body.program.instrs)
    one += instr.op == tensor::ScalarOp::pow ? kNanosecondsPerPow
           : tensor::is_function(instr.op)   ? kNanosecondsPerFunction
                                             : kNanosecondsPerOperation;
  return one * static_cast<double>(body.lanes);
}

/// What keeps a body from being one function, however many steps that takes.
std::optional<Refusal> why_too_large(const BodyProgram& body, std::size_t states) {
  if (const std::size_t size = body.program.instrs.size(); size > kMaxCompiledInstructions)
    return Refusal(fmt::format("{} operations, {} are the most that are compiled at once", size,
                               kMaxCompiledInstructions));
  if (step_nanoseconds_of(body) > kMaxNanosecondsBetweenLooks)
    return "a step takes too long between two looks at limits";
  if (const std::size_t registers = jit::vector_registers(active_isa());
      states > kMaxStatesOfRegister * registers)
    return Refusal(fmt::format("{} states do not stay in {} registers", states, registers));
  return std::nullopt;
}

}  // namespace

bool Binder::bind_compiled(ir::NodeId id, BoundLoop& loop, const std::vector<Location>& initial,
                           std::optional<Refusal>& refusal) {
  const ir::Node& node = module_.node(id);
  const ir::LoopPorts& ports = *node.loop;
  const ir::Region& body = module_.region(node.regions[0]);
  if (plan_->options.compiler == nullptr) {
    refusal = plan_->options.why_no_compiler;
    return false;
  }
  BodyProgram built(module_, inference_);
  refusal = built.build(body, ports.captured);
  if (!refusal) refusal = why_too_large(built, ports.carried);
  if (refusal) return false;
  const StepsThatPay pay(built, body.nodes.size(), ports.carried, least_steps(plan_->options));
  const bool always = plan_->options.always_compile;
  // A loop inside of others is run again and again; else one execution has to win it back.
  loop.steps_at_once = always ? 1 : loop_depth_ > 0 ? pay.at_once : pay.in_all;
  loop.steps_to_whole = always ? 1 : pay.in_all;
  const bool pays = always || loop.trip_count >= loop.steps_at_once ||
                    loop.trip_count + loop.stepped->load() >= loop.steps_to_whole;
  // Loops inside of others are counted in the code of these.
  if (loop.trip_count >= 0 && !pays && (loop_depth_ > 0 || loop.trip_count == 0)) return false;
  if (ports.has_keep_going && built.lanes != 1) {
    refusal = "a condition that is evaluated per step, over several lanes";
    return false;
  }
  jit::LoopSource source = std::move(built).source(module_.describe(id), ports.has_keep_going);
  loop.operations = static_cast<std::int64_t>(source.program.instrs.size()) * source.lanes;
  BoundLoop bound = loop;
  refusal = describe_states(id, initial, source);
  if (!refusal) refusal = describe_reads(id, bound, source, built.constants);
  if (!refusal) refusal = describe_rows(id, loop, source);
  if (refusal) return false;
  const std::string what = body.nodes.empty()
                               ? "a body without nodes"
                               : counted(static_cast<std::int64_t>(body.nodes.size()), "node") +
                                     ", each of " + counted(source.lanes, "element");
  if (std::string when = when_compiled(loop, source, pays, what); !when.empty()) {
    loop.notes.strategy = std::move(when);
    loop.notes.work = what;
    loop.captured = std::move(bound.captured);
    loop.source = std::make_shared<const jit::LoopSource>(std::move(source));
    return false;
  }
  refusal = compile_whole(source, bound);
  if (refusal) return false;
  bound.notes.strategy = "compiled: " + what + ", " + bound.compiled.target;
  emit_compiled(id, std::move(bound), initial);
  return true;
}

/// Where only the run knows whether the one function pays: what it waits for; else empty.
std::string Binder::when_compiled(const BoundLoop& loop, const jit::LoopSource& source, bool pays,
                                  const std::string& what) const {
  if (loop.trip_count >= 0 && !pays)
    return fmt::format("stepped: {}; compiled after {} steps", kFewSteps, loop.steps_to_whole);
  const bool may_end_early = source.has_keep_going && !plan_->options.always_compile;
  const bool has_open_end = loop.trip_count < 0 && loop.has_trip_count;
  if (!may_end_early && !has_open_end) return {};
  return source.has_keep_going ? fmt::format("compiled once it has taken {} steps: {}",
                                             least_steps(plan_->options), what)
                               : fmt::format("compiled from {} on, stepped before: {}",
                                             counted(loop.steps_at_once, "step"), what);
}

std::optional<Refusal> Binder::compile_whole(const jit::LoopSource& source, BoundLoop& loop) {
  if (stopped_) return Refusal(stopped_->text());
  const Expected<jit::CompiledLoop> compiled = compile_loop(*plan_, source, may_go_on_);
  if (!compiled && is_of_limits(compiled.error()))
    stopped_ = Error(compiled.error()).at(module_.describe(loop.node));
  if (!compiled) return Refusal(compiled.error().text());
  loop.compiled = *compiled;
  return std::nullopt;
}

void Binder::emit_compiled(ir::NodeId id, BoundLoop loop, const std::vector<Location>& initial) {
  bind_stacked(id, loop);
  bind_carried(id, loop, initial);
  bind_operands(module_.node(id), loop);
  const auto index = static_cast<std::uint32_t>(out_->loops.size());
  out_->loops.push_back(std::move(loop));
  emit(Op::compiled_loop, index);
  end_blocks(out_->loops[index]);
  out_->loops[index].exit = static_cast<std::uint32_t>(out_->code.size());
}

/// How the lanes of a value lie; nullopt where no single stride walks them.
std::optional<jit::LoopOperand> Binder::lanes_of(const Spot& spot) const {
  const std::optional<std::int64_t> stride = lane_stride(layout(spot));
  if (!stride) return std::nullopt;
  return jit::LoopOperand{spot.dtype, layout(spot).dims.elements() == 1 ? 0 : *stride};
}

std::optional<Refusal> Binder::describe_states(ir::NodeId id, const std::vector<Location>& initial,
                             jit::LoopSource& source) {
  const ir::Node& node = module_.node(id);
  const ir::Region& body = module_.region(node.regions[0]);
  for (std::uint32_t i = 0; i < node.loop->carried; ++i) {
    const tensor::Type& argument = type(body.args[node.loop->captured + i]);
    if (initial[i].spot.is_dynamic()) return Refusal("the size of a state depends on data");
    if (!sizes_fit(node, i)) return Refusal("the sizes of a state must be checked");
    source.carried.push_back({argument.dtype, argument.shape().elements() == 1 ? 0 : 1});
  }
  return std::nullopt;
}

std::optional<Refusal> Binder::describe_reads(ir::NodeId id, BoundLoop& loop, jit::LoopSource& source,
                            const std::vector<ir::ValueId>& constants) {
  const ir::Node& node = module_.node(id);
  const ir::LoopPorts& ports = *node.loop;
  const ir::Region& body = module_.region(node.regions[0]);
  std::vector<ir::ValueId> read_only(body.args.begin(), body.args.begin() + ports.captured);
  read_only.insert(read_only.end(), constants.begin(), constants.end());
  for (const ir::ValueId captured_id : read_only) {
    const Location captured = location(captured_id);
    touch(captured);
    if (captured.spot.is_dynamic() || !lanes_of(captured.spot))
      return Refusal(module_.describe(captured_id) + " has no single stride");
    source.captured.push_back(*lanes_of(captured.spot));
    loop.captured.push_back(captured.spot);
  }
  if (Expected<void> scanned = bind_scanned(id, loop); !scanned)
    return Refusal(scanned.error().text());
  for (std::size_t i = 0; i < loop.scanned.size(); ++i) {
    const BoundScanned& port = loop.scanned[i];
    const auto slice = [&] {
      return module_.describe(body.args[ports.captured + ports.carried + i]);
    };
    if (port.argument.is_dynamic())
      return Refusal("the size of slice " + slice() + " depends on data");
    if (!lanes_of(port.argument))
      return Refusal("slice " + slice() + " has no single stride");
    source.scanned.push_back(*lanes_of(port.argument));
  }
  return std::nullopt;
}

std::optional<Refusal> Binder::describe_rows(ir::NodeId id, const BoundLoop& loop, jit::LoopSource& source) {
  const ir::Node& node = module_.node(id);
  const ir::LoopPorts& ports = *node.loop;
  const ir::Region& body = module_.region(node.regions[0]);
  for (const ir::ValueId yield : body.yields)
    if (!is_static(yield))
      return Refusal("the size of " + module_.describe_result(yield) + " depends on data");
  for (std::size_t i = 0; i < ports.stacked.size(); ++i) {
    const ir::ValueId output = node.outputs[ports.carried + i];
    const tensor::Type& row = type(body.yields[ports.first_stacked_yield() + i]);
    if (!has_known_rows(node, i, loop)) {
      if (!has_open_rows(node, i)) return Refusal("rows have no place of their own");
      source.stacked.push_back({row.dtype, row.shape().elements() == 1 ? 0 : 1});
      continue;
    }
    Layout rows{row.shape(), tensor::contiguous_strides(type(output).shape())};
    if (ports.stacked[i].insert) rows.strides.erase(static_cast<int>(ports.stacked[i].axis));
    const std::optional<std::int64_t> stride = lane_stride(rows);
    if (!stride)
      return Refusal("the rows of " + module_.describe(output) + " have no single stride");
    // Lanes of rows that no step makes need not lie apart.
    if (*stride == 0 && rows.dims.elements() > 1) return Refusal("it takes no step");
    source.stacked.push_back({row.dtype, rows.dims.elements() == 1 ? 0 : *stride});
  }
  return std::nullopt;
}

std::int64_t least_steps(const PlanOptions& options) {
  return options.always_compile ? 1 : kMinStepsToCompile;
}

std::optional<Expected<jit::CompiledLoop>> find_loop(const Plan& plan,
                                                     const jit::LoopSource& source) {
  return plan.loops.find(key_of(source));
}

Expected<jit::CompiledLoop> compile_loop(const Plan& plan, const jit::LoopSource& source,
                                         const MayGoOn& may_go_on) {
  const jit::Plugin* const compiler = plan.options.compiler;
  if (may_go_on) jit::prepare(*compiler);
  return plan.loops.get(key_of(source), may_go_on,
                        [compiler, source] { return compiler->compile(source); });
}

}  // namespace scanloom::plan
