// LSTM: stays whole, the IR has the same operator.
#include "frontends/onnx/ops/converters.h"
#include "frontends/onnx/ops/recurrent.h"
#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

/// Without attribute hidden_size, the recurrence weights [directions, 4 * size, size] say it.
Expected<std::int64_t> hidden_size(NodeCtx& ctx, ValueId recurrence) {
  if (ctx.has_attribute("hidden_size")) return ctx.integer("hidden_size", 0);
  const tensor::Type& type = ctx.type(recurrence);
  if (!type.ranked || type.rank() != 3 || !type.dims[2].is_constant())
    return invalid_model("attribute 'hidden_size' is missing");
  return type.dims[2].value();
}

Expected<std::vector<ir::NamedAttr>> lstm_attributes(NodeCtx& ctx, ValueId recurrence) {
  SCANLOOM_TRY(const std::string direction, ctx.text("direction", "forward"));
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    return invalid_model(
        "attribute 'direction' is '{}', neither forward, reverse nor bidirectional", direction);
  SCANLOOM_TRY(const std::int64_t size, hidden_size(ctx, recurrence));
  SCANLOOM_TRY(const std::int64_t layout, ctx.integer("layout", 0));
  SCANLOOM_TRY(const std::int64_t input_forget, ctx.integer("input_forget", 0));
  SCANLOOM_TRY(const std::string names,
               joined_activations(ctx, direction == "bidirectional" ? 6 : 3));
  std::vector<ir::NamedAttr> attrs = {{"direction", direction},
                                      {"hidden_size", size},
                                      {"layout", layout},
                                      {"input_forget", input_forget != 0}};
  if (ctx.has_attribute("clip")) {
    SCANLOOM_TRY(const double clip, ctx.real("clip", 0));
    attrs.push_back({"clip", clip});
  }
  if (!names.empty()) attrs.push_back({"activations", names});
  return attrs;
}

}  // namespace

Expected<void> convert_lstm(NodeCtx& ctx) {
  // Whether output 0 may be left out, which any node may do.
  if (ctx.version() < 7) ctx.ignore("output_sequence");
  std::vector<ValueId> operands;
  for (int i = 0; i < 8; ++i) {
    SCANLOOM_TRY(const ValueId operand, i < 3 ? ctx.in(i) : ctx.optional_in(i));
    operands.push_back(operand);
  }
  SCANLOOM_TRY(auto attrs, lstm_attributes(ctx, operands[2]));
  SCANLOOM_TRY(const ir::NodeId node,
               ctx.builder().node(ops::lstm_op, std::move(operands), std::move(attrs), 3));
  for (int i = 0; i < 3; ++i)
    ctx.set_output(i, ctx.module().node(node).outputs[static_cast<std::size_t>(i)]);
  return {};
}

}  // namespace scanloom::onnx
