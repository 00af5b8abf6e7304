#include "plan/bind/step_time.h"

#include <algorithm>
#include <vector>

#include "ir/op_def.h"
#include "ops/ops.h"
#include "plan/cost.h"
#include "plan/plan.h"
#include "plan/step_work.h"
#include "tensor/half.h"

namespace scanloom::plan {
namespace {

const Layout& layout_of_spot(const Binding& binding, const Spot& spot) {
  return binding.layouts[static_cast<std::size_t>(spot.layout)];
}

}  // namespace

double step_nanoseconds(const Binding& binding, const BoundLoop& loop) {
  return (kNanosecondsPerCall + nanoseconds_of(binding, loop.body, loop.exit - 1)) *
         (1 + static_cast<double>(loop.per_step.steps_between_polls));
}

double compilable_nanoseconds(const Binding& binding, const BoundLoop& loop) {
  double kernels = 0;
  for (std::uint32_t at = loop.body; at + 1 < loop.exit; ++at) {
    if (binding.code[at].op != Op::call) continue;
    const BoundCall& call = binding.calls[binding.code[at].index];
    if (!call.is_copy && binding.plan->module.node(call.node).op == &ops::integer_matmul_op)
      kernels += call_nanoseconds(binding, call) - kNanosecondsPerCall;
  }
  const double polls = 1 + static_cast<double>(loop.per_step.steps_between_polls);
  return step_nanoseconds(binding, loop) - kernels * polls;
}

double nanoseconds_of(const Binding& binding, std::uint32_t first, std::uint32_t last) {
  double sum = 0;
  for (std::uint32_t at = first; at < last; ++at) {
    const Instruction& instruction = binding.code[at];
    if (instruction.op == Op::call)
      sum += call_nanoseconds(binding, binding.calls[instruction.index]);
  }
  return sum;
}

double uncharged_nanoseconds(const Binding& binding, std::uint32_t first) {
  double sum = 0;
  for (std::uint32_t at = first; at < binding.code.size(); at = end_of_block(binding, at)) {
    if (binding.code[at].op != Op::call) continue;
    const double one = max_nanoseconds(binding, binding.calls[binding.code[at].index]);
    if (one < kMinChargeOfCall) sum += one;
  }
  return sum;
}

double whole_step_nanoseconds(const Binding& binding, const BoundLoop& loop) {
  struct Inside {
    std::uint32_t exit;
    double times;
  };
  std::vector<Inside> inside{{loop.exit, 1}};
  double sum = 0;
  for (std::uint32_t at = loop.body; at + 1 < loop.exit; ++at) {
    while (at >= inside.back().exit) inside.pop_back();
    const Instruction& instruction = binding.code[at];
    if (instruction.op == Op::loop_begin) {
      const BoundLoop& inner = binding.loops[instruction.index];
      const auto trips = static_cast<double>(std::max<std::int64_t>(inner.trip_count, 1));
      inside.push_back({inner.exit, inside.back().times * trips});
    }
    if (instruction.op == Op::call)
      sum += inside.back().times * call_nanoseconds(binding, binding.calls[instruction.index]);
  }
  return sum;
}

double call_nanoseconds(const Binding& binding, const BoundCall& call) {
  const CallWork work = work_of(binding, call);
  if (work.products > 0) return kNanosecondsPerCall + work.products * kNanosecondsPerProduct;
  const Spot* const spots = binding.operands.data() + call.first_operand;
  const bool of_f16 = std::any_of(spots, spots + call.inputs + call.outputs, [](const Spot& spot) {
    return spot.present() && tensor::is_half(spot.dtype);
  });
  return kNanosecondsPerCall + work.elements * nanoseconds_per_element(of_f16 ? 1 : 0);
}

double max_nanoseconds(const Binding& binding, const BoundCall& call) {
  const double one = call_nanoseconds(binding, call);
  if (call.is_copy) return one;
  const ir::Node& node = binding.plan->module.node(call.node);
  if (node.op->products == nullptr) return one;
  const auto dims_of = [&](std::size_t i) -> const tensor::Shape* {
    const Spot& spot = binding.operands[call.first_operand + i];
    return spot.present() ? &layout_of_spot(binding, spot).dims : nullptr;
  };
  std::vector<const tensor::Shape*> inputs;
  for (std::size_t i = 0; i < call.inputs; ++i) inputs.push_back(dims_of(i));
  const ir::CostCtx cost{inputs, dims_of(call.inputs), node.attrs};
  return one + node.op->products(cost) * kNanosecondsPerProduct;
}

}  // namespace scanloom::plan
