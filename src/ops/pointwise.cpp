#include "ops/pointwise.h"

#include <algorithm>
#include <new>
#include <string>
#include <vector>

#include "ops/pointwise_dims.h"
#include "ops/sizes.h"
#include "tensor/for_each.h"
#include "tensor/paced_poll.h"
#include "tensor/scalar_eval.h"

namespace scanloom::ops {
namespace {

using tensor::Attr;
using tensor::Call;
using tensor::Operand;
using tensor::ScalarInstr;
using tensor::ScalarOp;
using tensor::ScalarProgram;
using tensor::ScalarReg;
using tensor::Shape;
using tensor::Status;
using tensor::Type;

ScalarProgram build(ScalarFn scalar, std::span<const std::optional<DType>> inputs,
                    std::span<const Attr> attrs) {
  ScalarProgram program;
  std::vector<ir::Reg> registers;
  for (const std::optional<DType>& input : inputs) {
    registers.push_back(input ? static_cast<ir::Reg>(program.inputs.size()) : -1);
    if (input) program.inputs.push_back(*input);
  }
  ir::ScalarCtx ctx(program, registers, attrs);
  program.results.push_back(scalar(ctx));
  return program;
}

// The operands of every instruction except casts have its own dtype, apart from select's condition.
Expected<void> check_operands(const ScalarProgram& program) {
  for (const ScalarInstr& instr : program.instrs) {
    if (instr.op == ScalarOp::cast) continue;
    for (int i = 0; i < tensor::scalar_op_arguments(instr.op); ++i) {
      const bool condition = instr.op == ScalarOp::select && i == 0;
      const DType needed = condition ? DType::boolean : instr.dtype;
      const DType given = program.register_dtype(instr.args[i]);
      if (given != needed)
        return invalid_model("element types {} and {} cannot be combined", dtype_name(needed),
                             dtype_name(given));
    }
  }
  return {};
}

Expected<void> check_dtypes(const ScalarProgram& program) {
  SCANLOOM_CHECK_OK(check_operands(program));
  if (tensor::supports(program)) return {};
  std::string inputs;
  for (const DType input : program.inputs) {
    if (!inputs.empty()) inputs += ", ";
    inputs += dtype_name(input);
  }
  return fail(Code::unsupported, "not defined from element types {} to {}", inputs,
              dtype_name(program.register_dtype(program.results[0])));
}

Expected<std::vector<std::optional<DType>>> input_dtypes(const ir::InferCtx& ctx) {
  std::vector<std::optional<DType>> dtypes;
  for (int i = 0; i < ctx.input_count(); ++i) {
    if (ctx.has(i) && !ctx.in(i).is_tensor()) return invalid_model("input {} is not a tensor", i);
    dtypes.push_back(ctx.has(i) ? std::optional(ctx.dtype(i)) : std::nullopt);
  }
  return dtypes;
}

void infer_integers(ir::InferCtx& ctx, const ScalarProgram& program) {
  const Type& result = ctx.outputs()[0];
  if (!result.ranked || result.rank() > 1) return;
  if (result.rank() == 1 && !result.dims[0].is_constant()) return;
  std::vector<std::vector<tensor::Dim>> inputs;
  for (int i = 0; i < ctx.input_count(); ++i) {
    if (!ctx.has(i)) continue;
    auto integers = ctx.integers(i);
    if (!integers) return;
    inputs.push_back(*std::move(integers));
  }
  const std::int64_t count = result.rank() == 0 ? 1 : result.dims[0].value();
  if (auto values = evaluate_dims(ctx, program, inputs, static_cast<std::size_t>(count)))
    ctx.set_integers(0, *std::move(values));
}

/// The operands of one call, with the result last, on the index space of the result.
class Columns {
 public:
  explicit Columns(const Call& call) : rows_(call.out(0).shape().dims()) {
    const Shape dims = call.out(0).shape();
    for (int i = 0; i < call.input_count; ++i) {
      if (!call.has(i)) continue;
      const Shape strides = tensor::broadcast_strides(
          call.in(i).shape().dims(),
          std::span(call.in(i).strides, static_cast<std::size_t>(call.in(i).rank)), dims.dims());
      add(call.in(i), strides.data());
    }
    add(call.out(0), call.out(0).strides);
  }

  void evaluate(const ScalarProgram& program, tensor::PacedPoll poll) {
    std::vector<ScalarReg> registers((program.inputs.size() + program.instrs.size()) * kColumn);
    for (rows_.start(); !rows_.done(); rows_.next())
      for (std::int64_t first = 0; first < rows_.length(); first += kColumn) {
        const std::int64_t length = std::min(kColumn, rows_.length() - first);
        if (poll.stops(length * static_cast<std::int64_t>(registers.size()) / kColumn)) return;
        evaluate_column(program, registers.data(), first, length);
      }
  }

 private:
  static constexpr std::size_t kMaxOperands = 4;
  static constexpr std::int64_t kColumn = 128;

  void add(const Operand& operand, const std::int64_t* strides) {
    rows_.add(strides);
    operands_[count_++] = &operand;
  }
  [[nodiscard]] std::int64_t step(std::size_t operand) const {
    return rows_.step(operand) * static_cast<std::int64_t>(dtype_bytes(operands_[operand]->dtype));
  }
  [[nodiscard]] std::byte* address(std::size_t operand, std::int64_t element) const {
    const auto bytes = static_cast<std::int64_t>(dtype_bytes(operands_[operand]->dtype));
    return operands_[operand]->data<std::byte>() + rows_.offset(operand) * bytes +
           element * step(operand);
  }

  void evaluate_column(const ScalarProgram& program, ScalarReg* registers, std::int64_t first,
                       std::int64_t length) const {
    const std::size_t result = count_ - 1;
    for (std::size_t i = 0; i < result; ++i)
      tensor::load_scalars(program.inputs[i], address(i, first), step(i),
                           registers + static_cast<std::int64_t>(i) * length, length);
    tensor::eval_scalar(program, registers, length);
    tensor::store_scalars(operands_[result]->dtype, registers + program.results[0] * length,
                          address(result, first), step(result), length);
  }

  tensor::RowCursor<kMaxOperands> rows_;
  const Operand* operands_[kMaxOperands] = {};
  std::size_t count_ = 0;
};

}  // namespace

ScalarProgram pointwise_program(const ir::OpDef& op, std::span<const std::optional<DType>> inputs,
                                std::span<const Attr> attrs) {
  return build(op.scalar, inputs, attrs);
}

Expected<void> infer_pointwise(ir::InferCtx& ctx, ScalarFn scalar) {
  SCANLOOM_TRY(const auto dtypes, input_dtypes(ctx));
  const ScalarProgram program = build(scalar, dtypes, ctx.attrs());
  SCANLOOM_CHECK_OK(check_dtypes(program));
  const DType dtype = program.register_dtype(program.results[0]);
  Type result = ctx.in(0);
  result.dtype = dtype;
  for (int i = 1; i < ctx.input_count(); ++i) {
    if (!ctx.has(i)) continue;
    SCANLOOM_TRY(result, ctx.broadcast(result, ctx.in(i), dtype));
  }
  if (!result.ranked) {
    ctx.set(0, std::move(result));
    return {};
  }
  SCANLOOM_CHECK_OK(set_sizes(ctx, 0, dtype, std::move(result.dims)));
  infer_integers(ctx, program);
  return {};
}

Status run_pointwise(const Call& call, ScalarFn scalar) noexcept try {
  std::vector<std::optional<DType>> inputs;
  for (int i = 0; i < call.input_count; ++i)
    inputs.push_back(call.has(i) ? std::optional(call.in(i).dtype) : std::nullopt);
  // A call does not count its attributes; programs read only those that their operator declares.
  constexpr std::size_t kMaxAttrs = 2;
  const ScalarProgram program = build(scalar, inputs, {call.attrs, kMaxAttrs});
  Columns(call).evaluate(program, tensor::PacedPoll(call));
  return call.ok_or_stopped();
} catch (const std::bad_alloc&) {
  *call.fault = {.code = Code::out_of_memory, .text = "out of memory while evaluating elements"};
  return Status::fault;
}

}  // namespace scanloom::ops
