#include "plan/bind/whole_loop.h"

#include <algorithm>

#include "base/register_limits.h"
#include "plan/bind/stacks.h"
#include "plan/codegen/body_program.h"
#include "plan/cost.h"
#include "tensor/half.h"
#include "tensor/scalar_functions.h"

namespace scanloom::plan {
namespace {

/// Returns the single stride that visits all elements in row-major order; nullopt if none does.
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

/// Returns the average time of kernels per element, over the program's instructions.
double nanoseconds_of(const tensor::ScalarProgram& program) {
  const auto count = static_cast<double>(std::max<std::size_t>(program.instrs.size(), 1));
  const auto f16_count = static_cast<double>(std::ranges::count_if(
      program.instrs,
      [](const tensor::ScalarInstr& instr) { return tensor::is_half(instr.dtype); }));
  return nanoseconds_per_element(f16_count / count);
}

/// From how many steps on compiling the body pays: `at_once` in each of many executions, `in_all`
/// summed over executions. An execution of fewer than `least` steps is short.
struct StepsThatPay {
  std::int64_t at_once, in_all;

  StepsThatPay(const BodyProgram& body, std::size_t nodes, std::size_t states, std::int64_t least) {
    const auto instructions = static_cast<double>(body.program.instrs.size());
    const auto lanes = static_cast<double>(body.lanes());
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
  return one * static_cast<double>(body.lanes());
}

/// Returns why a body is too large to be one function, whatever the number of steps.
std::optional<Refusal> why_too_large(const BodyProgram& body, std::size_t states) {
  if (const std::size_t size = body.program.instrs.size(); size > kMaxCompiledInstructions)
    return Refusal(fmt::format("{} operations, more than the limit of {} for compiling at once",
                               size, kMaxCompiledInstructions));
  if (step_nanoseconds_of(body) > kMaxNanosecondsBetweenPolls)
    return "a step takes too long between two polls of the limits";
  if (const std::size_t registers = jit::vector_registers(active_isa());
      states > kMaxStatesPerRegister * registers)
    return Refusal(fmt::format("{} states do not fit in {} registers", states, registers));
  return std::nullopt;
}

/// How the lanes of a value lie; nullopt where no single stride walks them.
std::optional<jit::LoopOperand> lanes_of_layout(const Layout& layout, DType dtype) {
  const std::optional<std::int64_t> stride = lane_stride(layout);
  if (!stride) return std::nullopt;
  return jit::LoopOperand{dtype, layout.dims.elements() == 1 ? 0 : *stride};
}

jit::LoopOperand lanes_of_row(const tensor::Type& row, std::int64_t stride) {
  return {row.dtype, row.shape().elements() == 1 ? 0 : stride};
}

/// Describes the operands of one loop to the compiler.
class WholeLoopSource {
 public:
  WholeLoopSource(BindContext& ctx, const BoundLoop& loop, jit::LoopSource& source)
      : ctx_(ctx),
        loop_(loop),
        node_(ctx.module.node(loop.node)),
        ports_(*node_.loop),
        body_(ctx.module.region(node_.regions[0])),
        source_(source) {}

  std::optional<Refusal> describe(const std::vector<Location>& initial,
                                  const std::vector<ir::ValueId>& captured,
                                  const std::vector<PortSlices>& slices) {
    if (auto refusal = add_states(initial)) return refusal;
    if (auto refusal = add_captured(captured)) return refusal;
    if (auto refusal = add_slices(slices)) return refusal;
    return add_rows();
  }

 private:
  std::optional<Refusal> add_states(const std::vector<Location>& initial) {
    for (std::uint32_t i = 0; i < ports_.carried; ++i) {
      const tensor::Type& argument = ctx_.values.type(body_.args[ports_.captured + i]);
      if (initial[i].spot.is_dynamic()) return "the size of a state depends on data";
      if (!sizes_fit(ctx_, node_, i)) return "the sizes of a state must be checked";
      source_.carried.push_back(lanes_of_row(argument, 1));
    }
    return std::nullopt;
  }

  std::optional<Refusal> add_captured(const std::vector<ir::ValueId>& captured) {
    for (const ir::ValueId value : captured) {
      const Spot spot = ctx_.values.at(value).spot;
      const auto lanes =
          spot.is_dynamic() ? std::nullopt : lanes_of_layout(ctx_.builder.layout(spot), spot.dtype);
      if (!lanes) return Refusal(ctx_.module.describe(value) + " has no single stride");
      source_.captured.push_back(*lanes);
    }
    return std::nullopt;
  }

  std::optional<Refusal> add_slices(const std::vector<PortSlices>& slices) {
    for (std::size_t i = 0; i < slices.size(); ++i) {
      const ir::ValueId argument = body_.args[ports_.captured + ports_.carried + i];
      const auto name = [&] { return "slice " + ctx_.module.describe(argument); };
      if (!slices[i].slice) return Refusal("the size of " + name() + " depends on data");
      const auto lanes = lanes_of_layout(*slices[i].slice, slices[i].from.spot.dtype);
      if (!lanes) return Refusal(name() + " has no single stride");
      source_.scanned.push_back(*lanes);
    }
    return std::nullopt;
  }

  std::optional<Refusal> add_rows() {
    for (const ir::ValueId yield : body_.yields)
      if (!ctx_.values.is_static(yield))
        return Refusal("the size of " + ctx_.module.describe_result(yield) + " depends on data",
                       ctx_.module.value(yield).producer);
    for (std::size_t i = 0; i < ports_.stacked.size(); ++i) {
      const ir::ValueId output = node_.outputs[ports_.carried + i];
      const tensor::Type& row = ctx_.values.type(body_.yields[ports_.first_stacked_yield() + i]);
      if (!has_known_rows(ctx_, loop_.node, loop_.trip_count, i)) {
        if (!has_open_rows(ctx_, node_, i)) return "rows have no memory of their own";
        source_.stacked.push_back(lanes_of_row(row, 1));
        continue;
      }
      const tensor::Shape all = ctx_.values.type(output).shape();
      Layout rows{row.shape(), tensor::contiguous_strides(all)};
      if (ports_.stacked[i].insert) rows.strides.erase(static_cast<int>(ports_.stacked[i].axis));
      const std::optional<std::int64_t> stride = lane_stride(rows);
      if (!stride)
        return Refusal("the rows of " + ctx_.module.describe(output) + " have no single stride");
      // Lanes of rows that no step makes need no distinct addresses.
      if (*stride == 0 && rows.dims.elements() > 1) return "it takes no steps";
      source_.stacked.push_back(lanes_of_row(row, *stride));
    }
    return std::nullopt;
  }

  BindContext& ctx_;
  const BoundLoop& loop_;
  const ir::Node& node_;
  const ir::LoopPorts& ports_;
  const ir::Region& body_;
  jit::LoopSource& source_;
};

/// What the code computes, for people.
std::string work_of_body(const ir::Region& body, std::int64_t lanes) {
  if (body.nodes.empty()) return "a body without nodes";
  return counted(static_cast<std::int64_t>(body.nodes.size()), "node") + ", each of " +
         counted(lanes, "element");
}

/// Whether only the run knows if the one function pays.
bool run_decides(const PlanOptions& options, const BoundLoop& loop, const WholeLoop& whole,
                 bool pays) {
  const bool may_end_early = whole.source->has_keep_going && !options.always_compile;
  const bool has_open_end = loop.trip_count < 0 && loop.has_trip_count;
  return may_end_early || has_open_end || (loop.trip_count >= 0 && !pays);
}

/// Compiles the code now.
std::optional<Refusal> compile_whole_loop(BindContext& ctx, const BoundLoop& loop,
                                          WholeLoop& whole) {
  if (ctx.stopped) return Refusal(ctx.stopped->text());
  const Expected<jit::CompiledLoop> code = compile_loop(*ctx.plan, *whole.source, ctx.may_go_on);
  if (!code && is_of_limits(code.error()))
    ctx.stopped = Error(code.error()).at(ctx.module.describe(loop.node));
  if (!code) return Refusal(code.error().text());
  whole.code = *code;
  return std::nullopt;
}

/// Sets `form.whole`, and `form.strategy` if it compiles; or returns why not. Neither, where steps
/// are few.
std::optional<Refusal> try_whole(BindContext& ctx, const BoundLoop& loop,
                                 const std::vector<Location>& initial,
                                 const std::vector<PortSlices>& slices, LoopForm& form) {
  const PlanOptions& options = ctx.plan->options;
  const ir::Node& node = ctx.module.node(loop.node);
  const ir::LoopPorts& ports = *node.loop;
  const ir::Region& body = ctx.module.region(node.regions[0]);
  if (options.compiler == nullptr) return Refusal(options.why_no_compiler);
  BodyProgram built(ctx.module, ctx.inference);
  if (auto refusal = built.build(body, ports.captured)) return refusal;
  if (auto refusal = why_too_large(built, ports.carried)) return refusal;
  const StepsThatPay pay(built, body.nodes.size(), ports.carried, min_steps(options));
  const bool always = options.always_compile, is_inner = ctx.builder.loop_depth() > 0;
  WholeLoop whole;
  // An inner loop runs repeatedly; for any other, one execution has to recover the cost.
  whole.steps_at_once = always ? 1 : is_inner ? pay.at_once : pay.in_all;
  whole.steps_to_whole_loop = always ? 1 : pay.in_all;
  const bool pays = always || loop.trip_count >= whole.steps_at_once ||
                    loop.trip_count + loop.stepped->load() >= whole.steps_to_whole_loop;
  // Loops inside of others are counted in the code of these.
  if (loop.trip_count >= 0 && !pays && (is_inner || loop.trip_count == 0)) return std::nullopt;
  if (ports.has_keep_going && built.lanes() != 1)
    return "a condition evaluated at every step, with several lanes";
  form.captured.assign(body.args.begin(), body.args.begin() + ports.captured);
  form.captured.insert(form.captured.end(), built.constants.begin(), built.constants.end());
  jit::LoopSource source =
      std::move(built).source(ctx.module.describe(loop.node), ports.has_keep_going);
  if (auto refusal = WholeLoopSource(ctx, loop, source).describe(initial, form.captured, slices))
    return refusal;
  whole.operations = static_cast<std::int64_t>(source.program.instrs.size()) * source.lanes;
  whole.work = work_of_body(body, source.lanes);
  whole.source = std::make_shared<const jit::LoopSource>(std::move(source));
  if (!run_decides(options, loop, whole, pays)) {
    if (auto refusal = compile_whole_loop(ctx, loop, whole)) return refusal;
    form.strategy = "compiled as a whole loop: " + whole.work + ", " + whole.code.target;
  }
  form.whole = std::move(whole);
  return std::nullopt;
}

}  // namespace

LoopForm choose_form(BindContext& ctx, const BoundLoop& loop, const std::vector<Location>& initial,
                     const std::vector<PortSlices>& slices) {
  LoopForm form;
  form.refusal = try_whole(ctx, loop, initial, slices, form);
  if (!form.whole)
    form.strategy = "stepped: " + (form.refusal ? form.refusal->reason : std::string(kFewSteps));
  return form;
}

std::int64_t min_steps(const PlanOptions& options) {
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
