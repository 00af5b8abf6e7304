#include "plan/bind/step_time.h"

#include <algorithm>
#include <vector>

#include "opmath/pool_geometry.h"
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

/// Returns the maximum number of elements of x in a window.
double taps_of_pool(const ir::Node& node, const tensor::Shape& x) {
  double taps = 1;
  const auto kernel = node.attrs[static_cast<std::size_t>(tensor::PoolAttr::kernel)].integers();
  for (int i = 0; i < std::min(x.rank() - 2, static_cast<int>(kernel.size())); ++i)
    taps *= static_cast<double>(std::min(kernel[static_cast<std::size_t>(i)], x[i + 2]));
  return taps;
}

}  // namespace

double step_nanoseconds(const Binding& binding, const BoundLoop& loop) {
  return (kNanosecondsPerCall + nanoseconds_of(binding, loop.body, loop.exit - 1)) *
         (1 + static_cast<double>(loop.per_step.steps_between_polls));
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
  const auto elements = [&](std::size_t i) {
    const Spot& spot = binding.operands[call.first_operand + i];
    return spot.present() ? static_cast<double>(layout_of_spot(binding, spot).dims.elements()) : 0;
  };
  const auto size = [&](std::size_t i, int axis) {
    const tensor::Shape& dims =
        layout_of_spot(binding, binding.operands[call.first_operand + i]).dims;
    return axis < dims.rank() ? static_cast<double>(std::max<std::int64_t>(dims[axis], 1)) : 1.0;
  };
  const ir::OpDef* const op = call.is_copy ? nullptr : binding.plan->module.node(call.node).op;
  double products = 0;
  if (op == &ops::conv_op || op == &ops::conv_transpose_op)
    products = std::max(elements(0), elements(call.inputs)) * elements(1) / size(1, 0);
  if (op == &ops::qlinear_conv_op) products = elements(call.inputs) * elements(3) / size(3, 0);
  if (op == &ops::max_pool_op || op == &ops::average_pool_op || op == &ops::lp_pool_op)
    products = elements(call.inputs) *
               taps_of_pool(binding.plan->module.node(call.node),
                            layout_of_spot(binding, binding.operands[call.first_operand]).dims);
  if (op == &ops::lstm_op || op == &ops::gru_op || op == &ops::rnn_op)
    products = elements(0) / size(0, 2) * (elements(1) + elements(2));
  return call_nanoseconds(binding, call) + products * kNanosecondsPerProduct;
}

}  // namespace scanloom::plan
