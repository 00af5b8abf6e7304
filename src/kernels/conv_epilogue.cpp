#include "kernels/conv_epilogue.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/pack_cache.h"
#include "opmath/conv_geometry.h"

namespace scanloom::kernels {

using tensor::Call;
using tensor::Operand;

namespace {

constexpr std::int64_t kOneDim = 1, kAdjacent = 1;
// Blocks read constants of filters by up to three vectors.
constexpr std::int64_t kVectorBytes = 3 * 64;

/// The value of a register of the epilogue's program that is a constant of a single element.
std::optional<double> number_in(const PrepareCtx& ctx, std::int32_t reg) {
  const tensor::ScalarProgram& program = *ctx.program;
  const auto inputs = static_cast<std::int32_t>(program.inputs.size());
  const DType dtype = ctx.outputs[0].dtype;
  if (reg < 1 || program.register_dtype(reg) != dtype) return std::nullopt;
  const void* data = nullptr;
  if (reg < inputs) {
    const std::size_t i = static_cast<std::size_t>(reg) - 1 + kConvOperands;
    if (ctx.inputs[i].elements() == 1 && i < ctx.constants.size()) data = ctx.constants[i];
  } else {
    const tensor::ScalarInstr& instr = program.instrs[static_cast<std::size_t>(reg - inputs)];
    if (instr.op == tensor::ScalarOp::constant) data = &instr.bits;
  }
  if (data == nullptr) return std::nullopt;
  const auto read = [&]<class T>(T value) -> double {
    std::memcpy(&value, data, sizeof(T));
    return value;
  };
  return dtype == DType::f64 ? read(0.0) : read(0.0F);
}

}  // namespace

std::optional<Refusal> ConvEpilogue::prepare(const PrepareCtx& ctx, bool in_blocks) {
  if (ctx.program == nullptr) return std::nullopt;
  const Operand& y = ctx.outputs[0];
  if (ctx.inputs.size() - kConvOperands + 1 > kMaxEpilogueOperands)
    return "an epilogue of many operands";
  filters_ = y.dims[1];
  for (int axis = 2; axis < y.rank; ++axis) positions_ *= y.dims[axis];
  if (in_blocks && find_finish(ctx)) return std::nullopt;
  if (tensor::is_channels_last(y)) return prepare_last(ctx);
  if (!y.contiguous) return "an epilogue of a result that is not contiguous";
  std::vector<Operand> inputs{y};
  inputs.insert(inputs.end(), ctx.inputs.begin() + kConvOperands, ctx.inputs.end());
  std::vector<const void*> constants(ctx.constants.begin() + kConvOperands - 1,
                                     ctx.constants.end());
  constants[0] = nullptr;  // the convolution's result
  PrepareCtx asked = ctx;
  asked.inputs = inputs;
  asked.constants = constants;
  if (auto why = lower(asked, plan_)) return why;
  present_ = true;
  return std::nullopt;
}

std::optional<ConvEpilogue::OperandLast> ConvEpilogue::describe(const Operand& input,
                                                                const Operand& y,
                                                                const void* constant) const {
  if (input.elements() == 1) return OperandLast{.holds = Holds::one, .repeated = {}};
  if (input.shape() == y.shape() && tensor::is_channels_last(input)) return OperandLast{};
  const int channels = input.rank - (y.rank - 1);
  if (constant == nullptr || !input.contiguous || channels < 0 || input.elements() != filters_ ||
      input.dims[channels] != filters_)
    return std::nullopt;
  const auto row = static_cast<std::size_t>(filters_) * dtype_bytes(input.dtype);
  const std::shared_ptr<std::byte> repeated =
      packed_memory<std::byte>(chunk_ * static_cast<std::int64_t>(row) + kVectorBytes);
  for (std::int64_t i = 0; i < chunk_; ++i)
    std::memcpy(repeated.get() + static_cast<std::size_t>(i) * row, constant, row);
  return OperandLast{.holds = Holds::channels, .repeated = repeated};
}

bool ConvEpilogue::find_finish(const PrepareCtx& ctx) {
  using tensor::ScalarInstr;
  using tensor::ScalarOp;
  const tensor::ScalarProgram& program = *ctx.program;
  const Operand& y = ctx.outputs[0];
  const auto inputs = static_cast<std::int32_t>(program.inputs.size());
  ConvEpilogue found;
  found.filters_ = filters_;
  found.chunk_ = 1;
  // The order in which blocks compute.
  enum class Stage : std::uint8_t { sums, scaled, shifted, rescaled, reshifted, added, clamped };
  Stage stage = Stage::sums;
  const auto reaches = [&](Stage next) { return stage < next ? (stage = next, true) : false; };
  const auto with_operand = [&](ScalarOp op, std::int32_t reg) {
    if (reg >= inputs) return false;
    const std::size_t i = static_cast<std::size_t>(reg) - 1 + kConvOperands;
    const Operand& input = ctx.inputs[i];
    if (input.dtype != y.dtype) return false;
    if (op == ScalarOp::add && input.shape() == y.shape() && tensor::is_channels_last(y) &&
        tensor::is_channels_last(input)) {
      found.residual_ = static_cast<int>(i);
      return reaches(Stage::added);
    }
    const void* const constant = i < ctx.constants.size() ? ctx.constants[i] : nullptr;
    const std::optional<OperandLast> described = found.describe(input, y, constant);
    if (!described || described->holds != Holds::channels) return false;
    const bool scales = op == ScalarOp::mul;
    const bool again = !reaches(scales ? Stage::scaled : Stage::shifted);
    if (again && !reaches(scales ? Stage::rescaled : Stage::reshifted)) return false;
    if (scales)
      (again ? found.rescale_ : found.scale_) = described->repeated;
    else
      (again ? found.reshift_ : found.shift_) = described->repeated;
    return true;
  };
  const auto is_zero = [&](std::int32_t reg) {
    if (reg < inputs) return false;
    const ScalarInstr& instr = program.instrs[static_cast<std::size_t>(reg - inputs)];
    return instr.op == ScalarOp::constant && instr.bits == 0;
  };
  const auto number_of = [&](std::int32_t reg) { return number_in(ctx, reg); };
  std::int32_t current = 0;
  for (std::size_t at = 0; at < program.instrs.size(); ++at) {
    const ScalarInstr& instr = program.instrs[at];
    const std::int32_t made = inputs + static_cast<std::int32_t>(at);
    if (instr.op == ScalarOp::constant) continue;
    if (stage < Stage::clamped) {
      const auto activation = find_activation(program, at, current, y.dtype, number_of);
      if (activation) {
        if (activation->clamps_at_zero())
          found.clamps_ = true, found.high_ = activation->high;
        else
          found.activation_ = *activation;
        current = program.results[0];
        break;
      }
    }
    if (instr.dtype != y.dtype || (instr.args[0] == current) == (instr.args[1] == current))
      return false;
    const std::int32_t other = instr.args[0] == current ? instr.args[1] : instr.args[0];
    if (instr.op == ScalarOp::max) {
      if (instr.args[0] != current || !is_zero(other) || !reaches(Stage::clamped)) return false;
      found.clamps_ = true;
    } else if ((instr.op != ScalarOp::add && instr.op != ScalarOp::mul) || other == 0 ||
               !with_operand(instr.op, other)) {
      return false;
    }
    current = made;
  }
  if (program.results.size() != 1 || program.results[0] != current) return false;
  found.finishes_ = true;
  *this = std::move(found);
  return true;
}

bool ConvEpilogue::hides_sign_of_zero(DType dtype) const {
  if (!finishes_) return false;
  if (clamps_) return true;
  if (shift_ == nullptr) return false;
  const auto hides = [&]<class T>(T) {
    const auto* const shift = reinterpret_cast<const T*>(shift_.get());
    return std::none_of(shift, shift + filters_,
                        [](T value) { return value == 0 && std::signbit(value); });
  };
  return dtype == DType::f64 ? hides(0.0) : hides(0.0F);
}

std::optional<Refusal> ConvEpilogue::prepare_last(const PrepareCtx& ctx) {
  constexpr std::int64_t kChunkElements = 2048;
  const Operand& y = ctx.outputs[0];
  chunk_ = std::max<std::int64_t>(kChunkElements / filters_, 1);
  chunk_elements_ = chunk_ * filters_;
  element_bytes_ = static_cast<std::int64_t>(dtype_bytes(y.dtype));
  const auto row_of = [&](Operand operand, bool single) {
    operand.dims = single ? &kOneDim : &chunk_elements_;
    operand.strides = &kAdjacent;
    operand.rank = 1;
    operand.contiguous = true;
    return operand;
  };
  std::vector<Operand> inputs{row_of(y, false)};
  std::vector<const void*> numbers{nullptr};  // constants of one element
  operands_last_.emplace_back();
  for (std::size_t i = kConvOperands; i < ctx.inputs.size(); ++i) {
    const Operand& input = ctx.inputs[i];
    const void* const constant = i < ctx.constants.size() ? ctx.constants[i] : nullptr;
    std::optional<OperandLast> described = describe(input, y, constant);
    if (!described) return "an epilogue over operands of several layouts";
    inputs.push_back(row_of(input, described->holds == Holds::one));
    numbers.push_back(described->holds == Holds::one ? constant : nullptr);
    operands_last_.push_back(*std::move(described));
  }
  const std::array<Operand, 1> outputs{inputs[0]};
  PrepareCtx asked = ctx;
  asked.inputs = inputs;
  asked.outputs = outputs;
  asked.constants = numbers;
  if (auto why = lower(asked, plan_)) return why;
  present_ = true;
  return std::nullopt;
}

void ConvEpilogue::run_last(const Call& call, const ConvPartOfResult& part,
                            std::byte* scratch) const {
  std::array<Operand, kMaxEpilogueOperands> inputs;
  std::array<std::byte*, kMaxEpilogueOperands> from{};
  const auto bytes_of = [](const Operand& operand) {
    return static_cast<std::int64_t>(dtype_bytes(operand.dtype));
  };
  for (std::size_t i = 0; i < operands_last_.size(); ++i) {
    inputs[i] = call.inputs[i];
    inputs[i].slot = &from[i];
    inputs[i].offset = 0;
  }
  Operand output = call.out(0);
  std::byte* to = nullptr;
  output.slot = &to;
  output.offset = 0;
  Call chunk = call;
  chunk.inputs = inputs.data();
  chunk.outputs = &output;
  // Positions go together if all of their filters are there.
  const std::int64_t together = part.filters == filters_ ? chunk_ : 1;
  const std::int64_t first = part.image * positions_ + part.first;
  for (std::int64_t at = first; at < first + part.count; at += together) {
    const std::int64_t count = std::min(together, first + part.count - at);
    const std::int64_t element = at * filters_ + part.filter;
    for (std::size_t i = 0; i < operands_last_.size(); ++i) {
      const OperandLast& operand = operands_last_[i];
      const std::int64_t offset = operand.holds == Holds::all        ? element
                                  : operand.holds == Holds::channels ? part.filter
                                                                     : 0;
      std::byte* const base = operand.repeated != nullptr
                                  ? const_cast<std::byte*>(operand.repeated.get())
                                  : call.inputs[i].data<std::byte>();
      from[i] = base + offset * bytes_of(inputs[i]);
    }
    to = call.out(0).data<std::byte>() + element * element_bytes_;
    run_elements(plan_, chunk, scratch, 0, count * part.filters);
  }
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
  if (epilogue_.chunk_ != 0) return epilogue_.run_last(call_, part, scratch);
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
