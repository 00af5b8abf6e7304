#include "kernels/conv_epilogue.h"

#include <algorithm>
#include <vector>

namespace scanloom::kernels {

using tensor::Call;
using tensor::Operand;

std::optional<Refusal> ConvEpilogue::prepare(const PrepareCtx& ctx) {
  if (ctx.program == nullptr) return std::nullopt;
  const Operand& y = ctx.outputs[0];
  std::vector<Operand> inputs{y};
  inputs.insert(inputs.end(), ctx.inputs.begin() + kConvOperands, ctx.inputs.end());
  if (inputs.size() > kMaxEpilogueOperands) return "an epilogue of many operands";
  if (!y.contiguous) return "an epilogue of a result that is not contiguous";
  std::vector<const void*> constants(ctx.constants.begin() + kConvOperands - 1,
                                     ctx.constants.end());
  constants[0] = nullptr;  // the convolution's result
  PrepareCtx asked = ctx;
  asked.inputs = inputs;
  asked.constants = constants;
  if (auto why = lower(asked, plan_)) return why;
  filters_ = y.dims[1];
  for (int axis = 2; axis < y.rank; ++axis) positions_ *= y.dims[axis];
  present_ = true;
  return std::nullopt;
}

ConvEpilogue::Run::Run(const ConvEpilogue& epilogue, const Call& call)
    : epilogue_(epilogue), call_(call) {
  if (!epilogue.present_) return;
  inputs_[0] = call.out(0);
  std::copy(call.inputs + kConvOperands, call.inputs + call.input_count, inputs_.begin() + 1);
  call_.inputs = inputs_.data();
  call_.input_count = static_cast<std::uint16_t>(call.input_count - kConvOperands + 1);
  // The convolution polls.
  call_.stop = nullptr;
}

void ConvEpilogue::Run::operator()(const ConvPartOfResult& part, std::byte* scratch) const {
  if (!epilogue_.present_ || part.count == 0) return;
  const std::int64_t row = part.image * epilogue_.filters_ + part.filter;
  const std::int64_t positions = epilogue_.positions_;
  if (part.count == positions) {
    run_elements(epilogue_.plan_, call_, scratch, row * positions,
                 (row + part.filters) * positions);
    return;
  }
  for (std::int64_t r = row; r < row + part.filters; ++r) {
    const std::int64_t begin = r * positions + part.first;
    run_elements(epilogue_.plan_, call_, scratch, begin, begin + part.count);
  }
}

}  // namespace scanloom::kernels
