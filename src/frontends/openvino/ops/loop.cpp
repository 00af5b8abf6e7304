// TensorIterator and Loop.
#include <algorithm>

#include "frontends/openvino/loop_map.h"
#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/sizes.h"
#include "frontends/openvino/wide_sizes.h"
#include "ir/constants.h"

namespace scanloom::openvino {

using ir::ValueId;

namespace {

const BodyPart& body_of(const Layer& layer) {
  return *std::ranges::find(layer.bodies, "body", &BodyPart::role);
}

/// Without slices, the window of a concatenated output gives the number of steps.
Expected<std::int64_t> steps_of_outputs(const BodyPart& part) {
  for (const PortEntry& port : part.outputs) {
    if (!port.axis || port.end < 0 || port.start < 0 || port.part_size < 1) continue;
    const std::int64_t length = std::max(port.start, port.end) - std::min(port.start, port.end);
    return length / port.part_size;
  }
  return invalid_model("no input is sliced, so the number of steps is unknown");
}

Expected<void> check_single(LayerCtx& ctx, int input, ValueId value, bool is_condition) {
  const tensor::Type& type = ctx.type(value);
  const bool fits = is_condition ? type.dtype == DType::boolean : is_integer(type.dtype);
  if (!fits)
    return invalid_model("input {}, the {}, is {}, but {} is needed", input,
                         is_condition ? "execution condition" : "trip count",
                         describe_type(ctx, value), is_condition ? "a boolean" : "an integer");
  if (!type.is_static() || type.shape().elements() == 1) return {};
  return invalid_model("input {}, the {}, has sizes {}, but one element is needed", input,
                       is_condition ? "execution condition" : "trip count",
                       type.shape().to_string());
}

/// Returns the trip count as i64; invalid if it is a constant that means "endless". A negative
/// count known only at run time, which means "endless" too, becomes the number of slices or,
/// without slices, kEndlessTripCount.
Expected<ValueId> trip_count_of(LayerCtx& ctx, LoopMap& map) {
  SCANLOOM_TRY(const ValueId given, ctx.in(0));
  SCANLOOM_CHECK_OK(check_single(ctx, 0, given, false));
  ops::Composer c(ctx.builder());
  const ValueId count = c.cast(widest(ctx.builder(), given), DType::i64);
  if (const tensor::Tensor* const known = ctx.constant(0)) {
    const std::int64_t steps = tensor::to_integers(*known)->front();
    if (steps < 0 || steps >= ir::kEndlessTripCount) return ValueId{};
    return c.done() ? Expected<ValueId>(count) : Expected<ValueId>(c.done().error());
  }
  if (size_of(ctx.module(), count)) {
    SCANLOOM_CHECK_OK(c.done());
    return count;
  }
  SCANLOOM_TRY(ValueId endless, map.slice_count());
  if (!endless.valid()) endless = c.number(ir::kEndlessTripCount);
  const ValueId steps = c.where(c.less(count, c.number(0)), endless, count);
  SCANLOOM_CHECK_OK(c.done());
  return steps;
}

}  // namespace

Expected<void> convert_tensor_iterator(LayerCtx& ctx) {
  const BodyPart& part = body_of(ctx.layer());
  LoopMap map(ctx, part);
  LoopMap::Control control;
  if (!map.has_slices()) {
    SCANLOOM_TRY(const std::int64_t steps, steps_of_outputs(part));
    control.trip_count = ctx.builder().constant(tensor::Tensor::scalar<std::int64_t>(steps));
  }
  return map.make(control);
}

Expected<void> convert_loop(LayerCtx& ctx) {
  const BodyPart& part = body_of(ctx.layer());
  LoopMap map(ctx, part);
  LoopMap::Control control;
  SCANLOOM_TRY(control.trip_count, trip_count_of(ctx, map));
  SCANLOOM_TRY(const ValueId condition, ctx.in(1));
  SCANLOOM_CHECK_OK(check_single(ctx, 1, condition, true));
  if (!ir::is_true(ctx.constant(1))) control.condition = condition;
  return map.make(control);
}

}  // namespace scanloom::openvino
