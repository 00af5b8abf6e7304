#include "runtime/kernel_calls.h"

#include <utility>

namespace scanloom::runtime {

KernelCalls::KernelCalls(Values& values, int max_threads)
    : values_(values), max_threads_(max_threads) {
  const plan::Binding& bound = values.binding;
  samples_.reserve(bound.calls.size() + bound.dynamic_calls.size());
  calls_.reserve(bound.calls.size());
  for (const plan::BoundCall& call : bound.calls) calls_.push_back(make(call));
}

void KernelCalls::begin_run(std::uint64_t number) {
  for (tensor::SampleCounter& samples : samples_) samples = {.run = number, .execution = 0};
}

tensor::HotCall KernelCalls::make(const plan::BoundCall& call) {
  tensor::HotCall made;
  made.run = call.run;
  made.call.inputs = values_.operands.data() + call.first_operand;
  made.call.outputs = made.call.inputs + call.inputs;
  made.call.input_count = call.inputs;
  made.call.output_count = call.outputs;
  made.call.max_threads = static_cast<std::uint16_t>(max_threads_);
  made.call.attrs = call.attrs;
  made.call.prepared = call.prepared.get();
  made.call.scratch = &values_.slots[plan::kScratchSlot];
  made.call.fault = &fault_;
  made.call.stop = &watch_;
  if (call.is_random) made.call.samples = &samples_.emplace_back();
  return made;
}

Error KernelCalls::error(ir::NodeId node) {
  if (watch_.stopped()) return watch_.take_error().at(values_.describe(node));
  const tensor::Fault fault = std::exchange(fault_, {});
  // Machine code found a fault that the kernels did not.
  if (*fault.text == '\0')
    return fail(Code::invalid_argument, "{}: an input changed while it was read",
                values_.describe(node));
  return tensor::to_error(fault).at(values_.describe(node));
}

}  // namespace scanloom::runtime
