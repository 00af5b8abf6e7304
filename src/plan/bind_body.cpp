// Machine code for the bodies of loops that are more than one element program. They are bound as
// all stepped loops are, and start so; the code takes over at the beginning of a step.
#include <algorithm>

#include "plan/binder.h"
#include "plan/body_source.h"
#include "plan/cost.h"

namespace scanloom::plan {

namespace {

/// What other instructions than calls stand for.
const char* part_of(Op op) {
  switch (op) {
    case Op::loop_begin:
    case Op::loop_end:
    case Op::compiled_loop:
      return "holds a loop";
    case Op::branch:
    case Op::jump:
      return "holds a branch";
    case Op::object_call:
      return "holds a sequence, an optional or a string";
    case Op::fault:
      return "holds a part that cannot run";
    case Op::call:
    case Op::dynamic_call:
    case Op::alias:
    case Op::check_sizes:
    case Op::look:
    case Op::end:
      break;
  }
  return "holds a part whose sizes depend on data";
}

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
  std::vector<BufferId> buffers;
  std::int64_t bytes = 0;
  for (std::size_t at = loop.body; at < out_->code.size(); ++at) {
    if (out_->code[at].op != Op::call) {
      loop.why_no_body = part_of(out_->code[at].op);
      return;
    }
    const BoundCall& call = out_->calls[out_->code[at].index];
    for (std::size_t i = 0; i < std::size_t{call.inputs} + call.outputs; ++i) {
      const Spot& spot = out_->operands[call.first_operand + i];
      if (spot.buffer == kNone) continue;
      buffers.push_back(spot.buffer);
      bytes += layout(spot).dims.elements() * static_cast<std::int64_t>(dtype_bytes(spot.dtype));
    }
  }
  if (bytes > kMaxBytesOfBody) {
    loop.why_no_body = fmt::format("has operands of {} bytes, {} are the most of a compiled body",
                                   bytes, kMaxBytesOfBody);
    return;
  }
  for (const BufferId buffer : buffers) arena_.use(buffer);
}

void Binder::compile_bodies() {
  if (plan_->options.compiler == nullptr) return;
  for (BoundLoop& loop : out_->loops) {
    if (loop.compiled.run != nullptr) continue;
    loop.steps_to_compile =
        plan_->options.always_compile ? 1 : steps_worth_compiling(loop.exit - loop.body);
    if (loop.trip_count <= loop.steps_to_compile) continue;
    Expected<jit::CompiledBody> body = compile_body(*plan_, *out_, loop);
    if (!body) {
      loop.strategy += "; " + body.error().text();
      continue;
    }
    loop.body_code = *std::move(body);
    loop.strategy = "compiled step by step: " + loop.body_code.target;
  }
}

Expected<jit::CompiledBody> compile_body(const Plan& plan, const Binding& binding,
                                         const BoundLoop& loop) {
  SCANLOOM_TRY(const jit::BodySource source, describe_body(plan, binding, loop));
  return plan.bodies.get(source, [&] { return plan.options.compiler->compile_body(source); });
}

}  // namespace scanloom::plan
