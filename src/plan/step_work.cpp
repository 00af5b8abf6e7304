#include "plan/step_work.h"

#include <algorithm>

#include "opmath/contraction.h"
#include "ops/ops.h"
#include "plan/codegen/nest_source.h"
#include "plan/plan.h"

namespace scanloom::plan {
namespace {

bool is_static(const Spot& spot) {
  return spot.present() && !spot.is_dynamic() && !spot.is_object() && spot.layout != kNone;
}

const Layout& layout_of(const Binding& binding, const Spot& spot) {
  return binding.layouts[static_cast<std::size_t>(spot.layout)];
}

std::int64_t elements_of(const Binding& binding, const Spot& spot) {
  return is_static(spot) ? layout_of(binding, spot).dims.elements() : 0;
}

std::int64_t bytes_of(const Binding& binding, const Spot& spot) {
  return elements_of(binding, spot) * static_cast<std::int64_t>(dtype_bytes(spot.dtype));
}

/// Whether only one element of the first operand is read per result.
bool picks(const ir::OpDef* op) { return op->picks || op->access == ir::Access::view; }

double multiplications(const Binding& binding, const BoundCall& call) {
  const Spot* const spots = binding.operands.data() + call.first_operand;
  tensor::Operand operands[3];
  for (std::uint16_t i = 0; i < 3; ++i) {
    const Spot& spot = spots[i < 2 ? i : call.inputs];
    if (!is_static(spot)) return 0;
    const Layout& layout = layout_of(binding, spot);
    operands[i].dims = layout.dims.data();
    operands[i].strides = layout.strides.data();
    operands[i].rank = layout.dims.rank();
  }
  const auto found =
      tensor::contraction_of(call.attrs[0].text(), operands[0], operands[1], operands[2]);
  if (!found) return 0;
  double product = 1;
  for (const auto* axes : {&found->batch, &found->m, &found->n, &found->k})
    product *= static_cast<double>(axes->elements());
  return product;
}

double multiplications_of_bytes(const Binding& binding, const BoundCall& call) {
  const Spot* const spots = binding.operands.data() + call.first_operand;
  if (!is_static(spots[0])) return 0;
  const tensor::Shape& rows = layout_of(binding, spots[0]).dims;
  return static_cast<double>(elements_of(binding, spots[call.inputs])) *
         static_cast<double>(rows[rows.rank() - 1]);
}

/// Returns the work of instructions [first, last). Both regions of a branch count.
StepWork work_of_code(const Binding& binding, std::uint32_t first, std::uint32_t last) {
  StepWork work;
  for (std::uint32_t at = first; at < last;) {
    const Instruction& instruction = binding.code[at];
    // Branches are not skipped, so the instructions of both regions are visited.
    at = instruction.op == Op::loop_begin ? end_of_block(binding, at) : at + 1;
    switch (instruction.op) {
      case Op::call: {
        const CallWork call = work_of(binding, binding.calls[instruction.index]);
        work.bytes += call.bytes;
        work.operations += call.products > 0 ? 2 * call.products : call.elements;
        break;
      }
      case Op::loop_begin:
      case Op::compiled_loop:
      case Op::dynamic_call:
      case Op::object_call:
        work.is_all = false;
        break;
      case Op::loop_end:
      case Op::branch:
      case Op::jump:
      case Op::alias:
      case Op::check_sizes:
      case Op::trap:
      case Op::poll:
      case Op::charge:
      case Op::outlined_region:
      case Op::end:
        break;
    }
  }
  return work;
}

}  // namespace

CallWork work_of(const Binding& binding, const BoundCall& call) {
  const ir::OpDef* const op = call.is_copy ? nullptr : binding.plan->module.node(call.node).op;
  const Spot* const spots = binding.operands.data() + call.first_operand;
  CallWork work;
  if (op == &ops::contract_op)
    work.products = multiplications(binding, call) + call.pipelined.products;
  else if (op == &ops::integer_matmul_op)
    work.products = multiplications_of_bytes(binding, call);
  work.bytes = call.pipelined.bytes;
  const bool in_place = updates_in_place(op, spots[0], spots[call.inputs]);
  const std::size_t updates = op == &ops::scatter_slice_op ? 1 : 2;
  for (std::size_t i = 0; i < std::size_t{call.inputs} + call.outputs; ++i) {
    if (!call.is_own(i)) continue;
    const bool picked = i == 0 && op != nullptr && picks(op);
    const bool updated = in_place && (i == 0 || i == call.inputs);
    const Spot& spot = spots[picked ? call.inputs : updated ? updates : i];
    work.bytes += bytes_of(binding, spot);
    work.elements = std::max(work.elements, static_cast<double>(elements_of(binding, spot)));
  }
  return work;
}

StepWork step_work(const Binding& binding, const BoundLoop& loop) {
  StepWork work;
  if (loop.whole) {
    work.operations = static_cast<double>(loop.whole->operations);
    for (const BoundScanned& port : loop.scanned) work.bytes += bytes_of(binding, port.argument);
    for (const BoundStacked& port : loop.stacked) work.bytes += bytes_of(binding, port.row);
  } else {
    work = work_of_code(binding, loop.body, loop.exit);
  }
  for (const BoundCarried& port : loop.carried) {
    if (!port.in_place) work.state_bytes += bytes_of(binding, port.initial);
    work.is_all &= is_static(port.argument) || loop.whole.has_value();
  }
  return work;
}

}  // namespace scanloom::plan
