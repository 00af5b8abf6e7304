// About how long steps take, by which machine code pays or not; and what sides of branches take,
// which is counted where they run.
#include <algorithm>

#include "opmath/pool_geometry.h"
#include "ops/ops.h"
#include "plan/bind/binder.h"
#include "plan/cost.h"
#include "plan/step_work.h"
#include "tensor/half.h"

namespace scanloom::plan {
namespace {

/// At most so many elements of x does a window see.
double taps_of_pool(const ir::Node& node, const tensor::Shape& x) {
  double taps = 1;
  const auto kernel = node.attrs[static_cast<std::size_t>(tensor::PoolAttr::kernel)].integers();
  for (int i = 0; i < std::min(x.rank() - 2, static_cast<int>(kernel.size())); ++i)
    taps *= static_cast<double>(std::min(kernel[static_cast<std::size_t>(i)], x[i + 2]));
  return taps;
}

}  // namespace

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
  return kNanosecondsPerCall + work.elements * nanoseconds_per_element(of_halves ? 1 : 0);
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
  if (op == &ops::max_pool_op || op == &ops::average_pool_op || op == &ops::lp_pool_op)
    products =
        elements(call.inputs) *
        taps_of_pool(module_.node(call.node), layout(out_->operands[call.first_operand]).dims);
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
  for (std::uint32_t at = first; at < out_->code.size(); at = end_of_block(*out_, at)) {
    if (out_->code[at].op != Op::call) continue;
    const double one = most_nanoseconds(out_->calls[out_->code[at].index]);
    if (one < kLeastSpentByCall) sum += one;
  }
  if (sum >= kLeastSpentBySide) emit_spend(sum);
}

}  // namespace scanloom::plan
