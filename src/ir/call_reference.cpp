#include "ir/call_reference.h"

#include <algorithm>
#include <vector>

namespace scanloom::ir {
namespace {

using tensor::Operand;
using tensor::Shape;
using tensor::Tensor;

/// Operands over whole tensors. They point into this object, so it must not move.
class Operands {
 public:
  explicit Operands(std::span<const Tensor> tensors)
      : operands_(tensors.size()), slots_(tensors.size()), strides_(tensors.size()) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (!tensors[i].defined()) continue;
      // Kernels write only to results, which are ours.
      slots_[i] = static_cast<std::byte*>(const_cast<void*>(tensors[i].data()));
      strides_[i] = contiguous_strides(tensors[i].shape());
      operands_[i] = {.slot = &slots_[i],
                      .offset = 0,
                      .dims = tensors[i].shape().data(),
                      .strides = strides_[i].data(),
                      .rank = tensors[i].shape().rank(),
                      .dtype = tensors[i].dtype(),
                      .contiguous = true};
    }
  }
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;

  [[nodiscard]] const Operand* data() const { return operands_.data(); }
  [[nodiscard]] std::span<const Operand> all() const { return operands_; }
  [[nodiscard]] std::uint16_t count() const { return static_cast<std::uint16_t>(operands_.size()); }

 private:
  std::vector<Operand> operands_;
  std::vector<std::byte*> slots_;
  std::vector<Shape> strides_;
};

}  // namespace

bool makes_nothing(const OpDef& op, std::span<const Operand> results) {
  return op.effects == Effects::pure && !results.empty() &&
         std::ranges::all_of(
             results, [](const Operand& result) { return !result.present() || result.empty(); });
}

Expected<void> call_reference(const OpDef& op, std::span<const Tensor> inputs,
                              std::span<const tensor::Attr> attrs, std::span<const Tensor> results,
                              tensor::SampleCounter* samples, tensor::StopToken* stop) {
  constexpr std::size_t kMaxOperands = 0xffff;
  if (inputs.size() > kMaxOperands || results.size() > kMaxOperands)
    return fail(Code::unsupported, "{} operands and {} results exceed the limit of {}",
                inputs.size(), results.size(), kMaxOperands);
  const Operands in(inputs), out(results);
  if (makes_nothing(op, out.all())) return {};
  tensor::Fault fault;
  const tensor::Call call{.inputs = in.data(),
                          .outputs = out.data(),
                          .input_count = in.count(),
                          .output_count = out.count(),
                          .attrs = attrs.data(),
                          .fault = &fault,
                          .samples = samples,
                          .stop = stop};
  switch (op.reference(call)) {
    case tensor::Status::ok:
      return {};
    case tensor::Status::stopped:
      return fail(Code::cancelled, "the call was stopped");
    case tensor::Status::fault:
      break;
  }
  return to_error(fault);
}

}  // namespace scanloom::ir
