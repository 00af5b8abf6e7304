// Scan since version 9: carried states, scanned inputs, stacked outputs. The trip count is the
// common length of the scan inputs.
#include "frontends/onnx/body.h"
#include "frontends/onnx/ops/converters.h"
#include "frontends/onnx/ops/scan_parts.h"
#include "frontends/onnx/types.h"
#include "ir/port_names.h"
#include "ops/ops.h"
#include "tensor/axis_words.h"

namespace scanloom::onnx {

using ir::ValueId;
using tensor::Type;

namespace {

/// The list attributes of the node, complete and checked. Axes are as written.
struct ScanLists {
  std::vector<std::int64_t> input_axes, input_directions, output_axes, output_directions;
};

/// Returns one axis per operand. Axes that no tensor can have are refused even before the rank is
/// known.
Expected<std::vector<std::int64_t>> scan_axes(NodeCtx& ctx, const char* name, std::size_t count,
                                              const char* of) {
  SCANLOOM_TRY(auto axes, scan_list(ctx, name, count, of));
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i] < -tensor::kMaxRank || axes[i] >= tensor::kMaxRank)
      return invalid_model("attribute '{}' has {} at position {}, outside [-{}, {})", name, axes[i],
                           i, tensor::kMaxRank, tensor::kMaxRank);
  return axes;
}

Expected<ScanLists> scan_lists(NodeCtx& ctx, const ScanCounts& counts) {
  ScanLists lists;
  SCANLOOM_TRY(lists.input_axes, scan_axes(ctx, "scan_input_axes", counts.scanned, "scan inputs"));
  SCANLOOM_TRY(lists.output_axes,
               scan_axes(ctx, "scan_output_axes", counts.stacked, "scan outputs"));
  SCANLOOM_TRY(lists.input_directions,
               scan_directions(ctx, "scan_input_directions", counts.scanned, "scan inputs"));
  SCANLOOM_TRY(lists.output_directions,
               scan_directions(ctx, "scan_output_directions", counts.stacked, "scan outputs"));
  return lists;
}

class OpenScan : public OpenNode {
 public:
  OpenScan(ir::NodeId loop, Body body, ScanCounts counts, ScanLists lists, tensor::Dim steps)
      : loop_(loop),
        body_(std::move(body)),
        counts_(counts),
        lists_(std::move(lists)),
        steps_(steps) {}

  Expected<void> finish(NodeCtx& ctx, std::vector<BodyResult> results) override;

 private:
  Expected<void> finish_stacked(NodeCtx& ctx, std::size_t i, ValueId row);

  ir::NodeId loop_;
  Body body_;
  ScanCounts counts_;
  ScanLists lists_;
  tensor::Dim steps_;
};

Expected<void> OpenScan::finish_stacked(NodeCtx& ctx, std::size_t i, ValueId row) {
  const std::size_t output = counts_.states + i;
  Type type = ctx.type(row);
  if (!type.is_tensor())
    return invalid_model("{} is {}, but only tensors can be stacked", body_.describe_output(output),
                         describe_elements(type));
  const std::int64_t axis = lists_.output_axes[i];
  std::optional<int> rank = type.ranked ? std::optional(type.rank()) : std::nullopt;
  if (!rank) {
    SCANLOOM_TRY(const auto declared, body_.declared_output(ctx, output));
    if (declared && declared->ranked) rank = declared->rank();
  }
  if (!rank && axis < 0)
    return fail(Code::unsupported, "scan output {} has axis {} and an unknown number of axes", i,
                axis);
  const auto normal = rank ? tensor::normalise_axis(axis, *rank + 1) : static_cast<int>(axis);
  if (!normal)
    return invalid_model("scan output {} has axis {}, outside [-{}, {})", i, axis, *rank + 1,
                         *rank + 1);
  if (type.ranked) type.dims.insert(type.dims.begin() + *normal, steps_);
  ctx.module().node(loop_).loop->stacked.push_back(
      {.axis = *normal, .reverse = lists_.output_directions[i] == 1, .insert = true});
  ctx.set_output(static_cast<int>(output), ctx.module().add_output(loop_, std::move(type)));
  return {};
}

Expected<void> OpenScan::finish(NodeCtx& ctx, std::vector<BodyResult> results) {
  ir::Module& module = ctx.module();
  BodyResult& body = results[0];
  std::vector<ValueId> yields;
  const std::size_t first_input = module.node(loop_).loop->first_carried_input();
  for (std::size_t i = 0; i < counts_.states; ++i) {
    const ValueId next = body.value(i);
    const Type initial = ctx.type(module.node(loop_).inputs[first_input + i]);
    if (ctx.type(next).dtype != initial.dtype || ctx.type(next).wraps != initial.wraps)
      return invalid_model("{} is {} before the first step, but the body makes it {}",
                           ir::describe_carried(module, loop_, i), describe_elements(initial),
                           describe_elements(ctx.type(next)));
    yields.push_back(next);
    const Type type = initial.ranked ? initial : ctx.type(next);
    ctx.set_output(static_cast<int>(i), module.add_output(loop_, type));
  }
  for (std::size_t i = 0; i < counts_.stacked; ++i) {
    const ValueId row = body.value(counts_.states + i);
    yields.push_back(row);
    SCANLOOM_CHECK_OK(finish_stacked(ctx, i, row));
  }
  module.region(body.builder->region()).yields = std::move(yields);
  return {};
}

/// A scan input with its axis in [0, rank).
struct ScanInput {
  ValueId value;
  std::string words;  // "scan input 1 'mask'"
  int axis = 0;
  Type slice;

  [[nodiscard]] static Expected<ScanInput> of(NodeCtx& ctx, const Body& body, std::size_t states,
                                              std::size_t i, std::int64_t axis);
};

Expected<ScanInput> ScanInput::of(NodeCtx& ctx, const Body& body, std::size_t states, std::size_t i,
                                  std::int64_t axis) {
  ScanInput input;
  const auto position = static_cast<int>(states + i);
  SCANLOOM_TRY(input.value, ctx.in(position));
  input.words = fmt::format("scan input {} '{}'", i,
                            shown_name(ctx.site().node.inputs[static_cast<std::size_t>(position)]));
  input.slice = ctx.type(input.value);
  if (!input.slice.is_tensor())
    return invalid_model("{} is {}, but a tensor is needed", input.words,
                         describe_elements(input.slice));
  std::optional<int> rank;
  if (input.slice.ranked) {
    rank = input.slice.rank();
  } else {
    SCANLOOM_TRY(const auto declared, body.declared_input(ctx, states + i));
    if (declared && declared->ranked) rank = declared->rank() + 1;
  }
  if (!rank && axis < 0)
    return fail(Code::unsupported, "{} has axis {} and an unknown number of axes", input.words,
                axis);
  const auto normal = rank ? tensor::normalise_axis(axis, *rank) : static_cast<int>(axis);
  if (!normal)
    return invalid_model("{} has axis {}, {}", input.words, axis, tensor::outside_axes(*rank));
  input.axis = *normal;
  if (input.slice.ranked) input.slice.dims.erase(input.slice.dims.begin() + input.axis);
  SCANLOOM_TRY(input.slice, body.formal_type(ctx, states + i, input.slice));
  return input;
}

/// Returns the common length of the scan inputs, which is checked.
Expected<ValueId> trip_count(NodeCtx& ctx, const std::vector<ScanInput>& inputs) {
  std::vector<MeasuredAxis> axes;
  for (const ScanInput& input : inputs) axes.push_back({input.value, input.axis, input.words});
  return common_size(ctx, axes, "steps");
}

}  // namespace

Expected<void> convert_scan(NodeCtx& ctx) {
  if (ctx.version() < 9) return convert_batched_scan(ctx);
  SCANLOOM_TRY(const ScanCounts counts, ScanCounts::of(ctx, 0));
  SCANLOOM_TRY(ScanLists lists, scan_lists(ctx, counts));
  SCANLOOM_TRY(Body body, Body::of(ctx, "body"));
  SCANLOOM_CHECK_OK(body.check_counts(ctx, counts.states + counts.scanned, "states and scan inputs",
                                      counts.states + counts.stacked, "states and scan outputs"));
  std::vector<ScanInput> inputs;
  for (std::size_t i = 0; i < counts.scanned; ++i) {
    SCANLOOM_TRY(ScanInput input, ScanInput::of(ctx, body, counts.states, i, lists.input_axes[i]));
    inputs.push_back(std::move(input));
  }
  SCANLOOM_TRY(const ValueId steps, trip_count(ctx, inputs));

  ir::LoopPorts ports;
  ports.has_trip_count = true;
  ports.fixed_sizes = true;
  const Captures captures(ctx);
  ports.captured = static_cast<std::uint32_t>(captures.operands().size());
  ports.carried = static_cast<std::uint32_t>(counts.states);
  std::vector<ValueId> operands = {steps};
  operands.insert(operands.end(), captures.operands().begin(), captures.operands().end());
  std::vector<Type> state_types;
  for (std::size_t i = 0; i < counts.states; ++i) {
    SCANLOOM_TRY(const ValueId initial, ctx.in(static_cast<int>(i)));
    SCANLOOM_TRY(Type type, body.formal_type(ctx, i, ctx.type(initial)));
    operands.push_back(initial);
    state_types.push_back(std::move(type));
  }
  for (std::size_t i = 0; i < counts.scanned; ++i) {
    operands.push_back(inputs[i].value);
    const bool backwards = lists.input_directions[i] == 1;
    ports.scanned.push_back({.axis = inputs[i].axis,
                             .start = backwards ? -1 : 0,
                             .stride = backwards ? -1 : 1,
                             .part = 1,
                             .squeeze = true});
  }
  const ir::NodeId loop = ctx.module().add_node(ctx.builder().region(), ir::loop_op,
                                                std::move(operands), {}, {}, ctx.site().location);
  ctx.module().node(loop).loop = std::move(ports);

  BodyRequest request = request_body(ctx, body, loop);
  captures.enter(ctx, body, request);
  for (std::size_t i = 0; i < counts.states; ++i)
    body.add_formal(ctx, request, i, std::move(state_types[i]));
  for (std::size_t i = 0; i < counts.scanned; ++i)
    body.add_formal(ctx, request, counts.states + i, std::move(inputs[i].slice));
  const tensor::Dim step_dim = known_size(ctx, inputs.front().value, inputs.front().axis)
                                   .value_or(ctx.module().dims.fresh());
  auto open = std::make_unique<OpenScan>(loop, std::move(body), counts, std::move(lists), step_dim);
  open->bodies.push_back(std::move(request));
  ctx.open(std::move(open));
  return {};
}

}  // namespace scanloom::onnx
