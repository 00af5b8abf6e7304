// What became of a loop and what a step of it takes, for people.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/ops.h"
#include "plan/binding.h"
#include "plan/body_source.h"
#include "plan/plan.h"

namespace scanloom::plan {
namespace {

std::int64_t elements_of(const Binding& binding, const Spot& spot) {
  if (!spot.present() || spot.is_dynamic() || spot.is_object() || spot.layout == kNone) return 0;
  return binding.layouts[static_cast<std::size_t>(spot.layout)].dims.elements();
}

std::int64_t bytes_of(const Binding& binding, const Spot& spot) {
  return elements_of(binding, spot) * static_cast<std::int64_t>(dtype_bytes(spot.dtype));
}

/// Whether only as much of the first operand is read as there are results.
bool picks(const ir::OpDef* op) {
  return op == &ops::gather_op || op == &ops::gather_elements_op || op == &ops::gather_nd_op ||
         op->access == ir::Access::view;
}

/// Multiplications and additions of products, else one operation per element.
double operations_of(const Binding& binding, const BoundCall& call) {
  double most = 0, all = 1;
  for (std::size_t i = 0; i < std::size_t{call.inputs} + call.outputs; ++i) {
    const Spot& spot = binding.operands[call.first_operand + i];
    const auto elements = static_cast<double>(elements_of(binding, spot));
    if (i == 0 && picks(binding.plan->module.node(call.node).op)) continue;
    most = std::max(most, elements);
    if (spot.present()) all *= elements;
  }
  if (call.is_copy) return 0;
  // m x k by k x n: (mk kn mn)^1/2 multiplications.
  const bool is_product = binding.plan->module.node(call.node).op == &ops::contract_op;
  return is_product ? 2 * std::sqrt(all) : most;
}

StepWork& operator+=(StepWork& sum, const StepWork& work) {
  sum.bytes += work.bytes;
  sum.operations += work.operations;
  sum.is_all &= work.is_all;
  return sum;
}

/// Slices and rows of the loop.
StepWork work_of_ports(const Binding& binding, const BoundLoop& loop) {
  StepWork work;
  for (const BoundScanned& port : loop.scanned) work.bytes += bytes_of(binding, port.argument);
  for (const BoundStacked& port : loop.stacked) {
    work.bytes += bytes_of(binding, port.row);
    work.is_all &= !port.row.is_dynamic() && !port.row.is_object();
  }
  return work;
}

StepWork work_of_call(const Binding& binding, const BoundCall& call) {
  StepWork work{.operations = operations_of(binding, call)};
  const Spot* const spots = binding.operands.data() + call.first_operand;
  const bool picked = !call.is_copy && picks(binding.plan->module.node(call.node).op);
  for (std::size_t i = 0; i < std::size_t{call.inputs} + call.outputs; ++i)
    work.bytes += bytes_of(binding, spots[picked && i == 0 ? call.inputs : i]);
  return work;
}

/// Of instructions [first, last), both sides of branches.
StepWork work_of_code(const Binding& binding, std::size_t first, std::size_t last) {
  StepWork work;
  for (std::size_t at = first; at < last; ++at) {
    const Instruction& instruction = binding.code[at];
    switch (instruction.op) {
      case Op::call:
        work += work_of_call(binding, binding.calls[instruction.index]);
        break;
      case Op::loop_begin:
      case Op::compiled_loop:
      case Op::dynamic_call:
      case Op::object_call:
        work.is_all = false;
        break;
      default:
        break;
    }
    if (instruction.op == Op::loop_begin) at = binding.loops[instruction.index].exit - 1;
  }
  return work;
}

std::string strategy_of_body(const Plan& plan, const Binding& binding, const BoundLoop& loop) {
  const Expected<jit::BodySource> source = describe_body(plan, binding, loop);
  if (!source) return loop.strategy;  // which says why
  const auto code = plan.bodies.find(*source);
  if (!code)
    return fmt::format("{}; compiled after {} steps", loop.strategy, loop.steps_to_compile);
  if (!*code) return loop.strategy + "; " + code->error().text();
  return fmt::format("compiled step by step: {}, after {} steps", (*code)->target,
                     loop.steps_to_compile);
}

}  // namespace

std::string describe_strategy(const Binding& binding, const BoundLoop& loop) {
  const Plan& plan = *binding.plan;
  const bool decided = loop.compiled.run != nullptr || loop.body_code.run != nullptr;
  if (decided || plan.options.compiler == nullptr) return loop.strategy;
  if (loop.source) {
    const auto code = find_loop(plan, *loop.source);
    if (code) return *code ? "compiled: " + (*code)->target : "stepped: " + code->error().text();
    return loop.strategy;
  }
  // Inside of a loop that is code.
  if (loop.steps_to_compile == std::numeric_limits<std::int64_t>::max()) return loop.strategy;
  return strategy_of_body(plan, binding, loop);
}

StepWork step_work(const Binding& binding, const BoundLoop& loop) {
  StepWork work = work_of_ports(binding, loop);
  if (loop.compiled.run != nullptr || loop.source) {
    work.operations = static_cast<double>(loop.operations);
    return work;
  }
  work += work_of_code(binding, loop.body, loop.exit);
  return work;
}

std::int64_t state_bytes(const Binding& binding, const BoundLoop& loop) {
  std::int64_t bytes = 0;
  for (const BoundCarried& port : loop.carried) bytes += bytes_of(binding, port.initial);
  return bytes;
}

}  // namespace scanloom::plan
