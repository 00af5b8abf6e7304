// Loop: carried values and stacked rows. The step number becomes one more carried value; the formal
// for the condition is true in every step that runs.
#include <algorithm>

#include "frontends/onnx/body.h"
#include "frontends/onnx/ops/converters.h"
#include "frontends/onnx/types.h"
#include "ir/constants.h"
#include "ir/port_names.h"
#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;
using tensor::Tensor;
using tensor::Type;

namespace {

constexpr std::size_t kStepFormal = 0;
constexpr std::size_t kConditionFormal = 1;
constexpr std::size_t kFirstCarriedFormal = 2;

class OpenLoop : public OpenNode {
 public:
  OpenLoop(ir::NodeId loop, std::size_t carried, bool has_condition, ValueId step)
      : loop_(loop), carried_(carried), has_condition_(has_condition), step_(step) {}

  Expected<void> finish(NodeCtx& ctx, std::vector<BodyResult> results) override;

 private:
  Expected<void> finish_condition(NodeCtx& ctx, BodyResult& body, std::vector<ValueId>& yields);
  Expected<ValueId> next_step(BodyResult& body) const;

  ir::NodeId loop_;
  std::size_t carried_;  // those declared in the model
  bool has_condition_;   // the node has a condition operand, so the one of the body counts
  ValueId step_;         // the argument that counts steps; invalid if nothing reads it
};

Expected<void> check_single(const std::string& what, const Type& type, DType dtype) {
  if (!type.is_tensor() || type.dtype != dtype)
    return invalid_model("{} is {}, but {} is needed", what, describe_elements(type),
                         dtype_onnx_name(dtype));
  return check_one_element(what, type);
}

/// Whether a state starts as an optional but is yielded as the element it holds.
bool is_optional_of(const Type& initial, const Type& next) {
  if (initial.is_tensor() || initial.wraps.front() != tensor::Wrap::optional) return false;
  return initial.dtype == next.dtype && std::equal(initial.wraps.begin() + 1, initial.wraps.end(),
                                                   next.wraps.begin(), next.wraps.end());
}

Expected<void> OpenLoop::finish_condition(NodeCtx& ctx, BodyResult& body,
                                          std::vector<ValueId>& yields) {
  if (ir::is_true(body.outputs[0].constant.get())) return {};
  if (!has_condition_) {
    // Warns because other implementations obey the condition, so results may differ.
    ctx.reading().diagnostics.warning(
        fmt::format("onnx: {}: it has no condition operand, so the condition computed by its body, "
                    "body output 0, is ignored",
                    ctx.module().describe(loop_)));
    return {};
  }
  const ValueId keep_going = body.value(0);
  SCANLOOM_CHECK_OK(
      check_single("body output 0, the condition,", ctx.type(keep_going), DType::boolean));
  ctx.module().node(loop_).loop->has_keep_going = true;
  yields.push_back(keep_going);
  return {};
}

Expected<ValueId> OpenLoop::next_step(BodyResult& body) const {
  const ValueId one = body.builder->constant(Tensor::scalar<std::int64_t>(1));
  return body.builder->op(ops::add_op, {step_, one});
}

Expected<void> OpenLoop::finish(NodeCtx& ctx, std::vector<BodyResult> results) {
  ir::Module& module = ctx.module();
  BodyResult& body = results[0];
  std::vector<ValueId> yields;
  std::vector<std::pair<int, ValueId>> held;  // outputs that are the element of an optional state
  SCANLOOM_CHECK_OK(finish_condition(ctx, body, yields));
  const std::size_t first_input = module.node(loop_).loop->first_carried_input();
  for (std::size_t i = 0; i < carried_; ++i) {
    ValueId next = body.value(1 + i);
    const Type initial = ctx.type(module.node(loop_).inputs[first_input + i]);
    const bool holds = is_optional_of(initial, ctx.type(next));
    if (holds) {
      SCANLOOM_TRY(next, body.builder->op(ops::optional_op, {next}));
    }
    const Type& type = ctx.type(next);
    if (type.dtype != initial.dtype || type.wraps != initial.wraps)
      return invalid_model("{} is {} before the first step, but the body makes it {}",
                           ir::describe_carried(module, loop_, i), describe_elements(initial),
                           describe_elements(type));
    yields.push_back(next);
    // Sizes may change between steps.
    Type final_type = type.ranked && initial.ranked && type.rank() == initial.rank()
                          ? initial
                          : Type::unranked(initial.dtype);
    final_type.wraps = initial.wraps;
    for (tensor::Dim& dim : final_type.dims) dim = module.dims.fresh();
    const ValueId last = module.add_output(loop_, std::move(final_type));
    ctx.set_output(static_cast<int>(i), last);
    if (holds) held.emplace_back(static_cast<int>(i), last);
  }
  if (step_.valid()) {
    SCANLOOM_TRY(const ValueId next, next_step(body));
    yields.push_back(next);
    module.add_output(loop_, ctx.type(step_));
  }
  for (std::size_t i = 1 + carried_; i < body.outputs.size(); ++i) {
    const ValueId row = body.value(i);
    Type stacked = ctx.type(row);
    if (!stacked.is_tensor())
      return invalid_model("body output {} is {}, but only tensors can be stacked", i,
                           describe_elements(stacked));
    if (stacked.ranked) stacked.dims.insert(stacked.dims.begin(), module.dims.fresh());
    yields.push_back(row);
    module.node(loop_).loop->stacked.push_back({});
    ctx.set_output(static_cast<int>(i - 1), module.add_output(loop_, std::move(stacked)));
  }
  module.region(body.builder->region()).yields = std::move(yields);
  for (const auto& [output, last] : held) {
    SCANLOOM_TRY(const ValueId element, ctx.op(ops::optional_get_element_op, {last}));
    ctx.set_output(output, element);
  }
  return {};
}

/// Returns the leading operands: [trip count] [condition].
Expected<std::vector<ValueId>> control_operands(NodeCtx& ctx, ir::LoopPorts& ports) {
  std::vector<ValueId> operands;
  if (ctx.has(0)) {
    SCANLOOM_TRY(const ValueId trip_count, ctx.in(0));
    SCANLOOM_CHECK_OK(check_single(ctx.describe_input(0) + ", the trip count,",
                                   ctx.type(trip_count), DType::i64));
    const Tensor* const known = ctx.constant(0);
    if (known == nullptr || tensor::to_integers(*known)->front() < ir::kEndlessTripCount) {
      ports.has_trip_count = true;
      operands.push_back(trip_count);
    }
  }
  if (ctx.has(1)) {
    SCANLOOM_TRY(const ValueId condition, ctx.in(1));
    SCANLOOM_CHECK_OK(check_single(ctx.describe_input(1) + ", the condition,", ctx.type(condition),
                                   DType::boolean));
    if (!ir::is_true(ctx.constant(1))) {
      ports.has_condition = true;
      operands.push_back(condition);
    }
  }
  return operands;
}

/// Returns the shape of the step number or condition inside the body: a scalar, unless the formal
/// is declared with one axis.
Expected<tensor::Shape> single_shape(NodeCtx& ctx, const Body& body, std::size_t formal,
                                     DType dtype) {
  SCANLOOM_TRY(const std::optional<Type> declared, body.declared_input(ctx, formal));
  if (!declared) return tensor::Shape{};
  SCANLOOM_CHECK_OK(check_single(body.describe_input(formal), *declared, dtype));
  return declared->ranked && declared->rank() == 1 ? tensor::Shape{1} : tensor::Shape{};
}

/// Returns the type of a carried value inside the body: its element type and rank, but not its
/// sizes.
Expected<Type> carried_type(NodeCtx& ctx, const Body& body, std::size_t formal,
                            const Type& initial) {
  SCANLOOM_TRY(Type type, body.formal_type(ctx, formal, initial));
  for (tensor::Dim& dim : type.dims) dim = ctx.module().dims.fresh();
  return type;
}

}  // namespace

Expected<void> convert_loop(NodeCtx& ctx) {
  SCANLOOM_TRY(const Body body, Body::of(ctx, "body"));
  const std::size_t carried =
      ctx.input_count() > 2 ? static_cast<std::size_t>(ctx.input_count()) - 2 : 0;
  SCANLOOM_CHECK_OK(body.check_counts(ctx, carried + 2, "step number, condition, carried values",
                                      1 + static_cast<std::size_t>(ctx.output_count()),
                                      "condition and the outputs of the node"));
  if (static_cast<std::size_t>(ctx.output_count()) < carried)
    return invalid_model("it has {} outputs, fewer than its {} carried values", ctx.output_count(),
                         carried);
  ir::LoopPorts ports;
  SCANLOOM_TRY(std::vector<ValueId> operands, control_operands(ctx, ports));
  const Captures captures(ctx);
  ports.captured = static_cast<std::uint32_t>(captures.operands().size());
  operands.insert(operands.end(), captures.operands().begin(), captures.operands().end());
  SCANLOOM_TRY(const tensor::Shape step_shape, single_shape(ctx, body, kStepFormal, DType::i64));
  SCANLOOM_TRY(const tensor::Shape condition_shape,
               single_shape(ctx, body, kConditionFormal, DType::boolean));
  std::vector<Type> types;
  for (std::size_t i = 0; i < carried; ++i) {
    SCANLOOM_TRY(const ValueId initial, ctx.in(static_cast<int>(i) + 2));
    operands.push_back(initial);
    SCANLOOM_TRY(Type type, carried_type(ctx, body, kFirstCarriedFormal + i, ctx.type(initial)));
    types.push_back(std::move(type));
  }
  const bool counts = body.reads_input(kStepFormal);
  if (counts) {
    SCANLOOM_TRY(Tensor zero, Tensor::zeros(DType::i64, step_shape));
    operands.push_back(ctx.builder().constant(std::move(zero)));
  }
  ports.carried = static_cast<std::uint32_t>(carried + (counts ? 1 : 0));
  const ir::NodeId loop = ctx.module().add_node(ctx.builder().region(), ir::loop_op,
                                                std::move(operands), {}, {}, ctx.site().location);
  ctx.module().node(loop).loop = ports;
  BodyRequest request = request_body(ctx, body, loop);
  captures.enter(ctx, body, request);
  for (std::size_t i = 0; i < carried; ++i)
    body.add_formal(ctx, request, kFirstCarriedFormal + i, std::move(types[i]));
  ValueId step;
  if (counts) step = body.add_formal(ctx, request, kStepFormal, Type::of(DType::i64, step_shape));
  SCANLOOM_TRY(Tensor yes, Tensor::zeros(DType::boolean, condition_shape));
  *static_cast<std::uint8_t*>(yes.mutable_data()) = 1;
  request.bindings.emplace_back(body.input_name(kConditionFormal),
                                Binding::of(std::make_shared<const Tensor>(std::move(yes))));
  auto open = std::make_unique<OpenLoop>(loop, carried, ctx.has(1), step);
  open->bodies.push_back(std::move(request));
  ctx.open(std::move(open));
  return {};
}

}  // namespace scanloom::onnx
