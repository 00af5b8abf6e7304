// GRU, LSTM and RNN, each converted to the IR operator of the same name.
#include "frontends/onnx/ops/recurrent_activations.h"

#include "frontends/onnx/ops/converters.h"
#include "ops/ops.h"
#include "ops/recurrent/recurrent_activations.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

constexpr std::size_t kRecurrence = 2;  // index of operand R

/// A list of parameters, consumed in order by the activations that take one.
class Parameters {
 public:
  explicit Parameters(std::vector<double> values) : values_(std::move(values)) {}
  /// Returns ":" and the next number, or nothing at the end of the list.
  std::string next() {
    return used_ < values_.size() ? fmt::format(":{}", values_[used_++]) : std::string();
  }

 private:
  std::vector<double> values_;
  std::size_t used_ = 0;
};

/// Without attribute hidden_size, the size is taken from the recurrence weights [directions, gates
/// * size, size].
Expected<std::int64_t> hidden_size(NodeCtx& ctx, ValueId recurrence) {
  if (ctx.has_attribute("hidden_size")) return ctx.integer("hidden_size", 0);
  const tensor::Type& type = ctx.type(recurrence);
  if (!type.ranked || type.rank() != 3 || !type.dims[2].is_constant())
    return invalid_model("attribute 'hidden_size' is missing");
  return type.dims[2].value();
}

}  // namespace

Expected<std::string> joined_activations(NodeCtx& ctx, std::size_t count) {
  SCANLOOM_TRY(const auto names, ctx.texts("activations"));
  SCANLOOM_TRY(auto alpha, ctx.floats("activation_alpha"));
  SCANLOOM_TRY(auto beta, ctx.floats("activation_beta"));
  if (names.empty()) return std::string();
  if (names.size() != count)
    return invalid_model("attribute 'activations' has {} names, but {} are needed", names.size(),
                         count);
  Parameters alphas(std::move(alpha)), betas(std::move(beta));
  std::string joined;
  for (const std::string& name : names) {
    const int parameters = ops::activation_parameters(name);
    if (parameters < 0) return fail(Code::unsupported, "activation '{}' is not supported", name);
    joined += joined.empty() ? name : "," + name;
    const std::string first = parameters > 0 ? alphas.next() : std::string();
    joined += first;
    if (parameters < 2) continue;
    const std::string second = betas.next();
    if (first.empty() && !second.empty()) joined += ":";
    joined += second;
  }
  return joined;
}

namespace {

Expected<std::vector<ir::NamedAttr>> common_attributes(NodeCtx& ctx, ValueId recurrence,
                                                       std::size_t per_direction) {
  SCANLOOM_TRY(const std::string direction, ctx.text("direction", "forward"));
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    return invalid_model(
        "attribute 'direction' is '{}', neither forward, reverse nor bidirectional", direction);
  SCANLOOM_TRY(const std::int64_t size, hidden_size(ctx, recurrence));
  SCANLOOM_TRY(const std::int64_t layout, ctx.integer("layout", 0));
  const std::size_t directions = direction == "bidirectional" ? 2 : 1;
  SCANLOOM_TRY(const std::string names, joined_activations(ctx, per_direction * directions));
  std::vector<ir::NamedAttr> attrs = {
      {"direction", direction}, {"hidden_size", size}, {"layout", layout}};
  if (ctx.has_attribute("clip")) {
    SCANLOOM_TRY(const double clip, ctx.real("clip", 0));
    attrs.push_back({"clip", clip});
  }
  if (!names.empty()) attrs.push_back({"activations", names});
  return attrs;
}

Expected<std::vector<ValueId>> operands_of(NodeCtx& ctx, int count) {
  std::vector<ValueId> operands;
  for (int i = 0; i < count; ++i) {
    SCANLOOM_TRY(const ValueId operand, i < 3 ? ctx.in(i) : ctx.optional_in(i));
    operands.push_back(operand);
  }
  return operands;
}

Expected<void> finish(NodeCtx& ctx, const ir::OpDef& op, std::vector<ValueId> operands,
                      std::vector<ir::NamedAttr> attrs, int results) {
  SCANLOOM_TRY(const ir::NodeId node,
               ctx.builder().node(op, std::move(operands), std::move(attrs), op.outputs.size()));
  for (int i = 0; i < results; ++i)
    ctx.set_output(i, ctx.module().node(node).outputs[static_cast<std::size_t>(i)]);
  return {};
}

}  // namespace

// Attribute output_sequence (GRU and RNN up to version 3, LSTM up to version 6) repeats which
// results the node has.

Expected<void> convert_gru(NodeCtx& ctx) {
  ctx.ignore("output_sequence");
  SCANLOOM_TRY(auto operands, operands_of(ctx, 6));
  SCANLOOM_TRY(auto attrs, common_attributes(ctx, operands[kRecurrence], 2));
  SCANLOOM_TRY(const std::int64_t linear, ctx.integer("linear_before_reset", 0));
  attrs.push_back({"linear_before_reset", linear != 0});
  return finish(ctx, ops::gru_op, std::move(operands), std::move(attrs), 2);
}

Expected<void> convert_lstm(NodeCtx& ctx) {
  if (ctx.version() < 7) ctx.ignore("output_sequence");
  SCANLOOM_TRY(auto operands, operands_of(ctx, 8));
  SCANLOOM_TRY(auto attrs, common_attributes(ctx, operands[kRecurrence], 3));
  SCANLOOM_TRY(const std::int64_t input_forget, ctx.integer("input_forget", 0));
  attrs.push_back({"input_forget", input_forget != 0});
  return finish(ctx, ops::lstm_op, std::move(operands), std::move(attrs), 3);
}

Expected<void> convert_rnn(NodeCtx& ctx) {
  ctx.ignore("output_sequence");
  SCANLOOM_TRY(auto operands, operands_of(ctx, 6));
  SCANLOOM_TRY(auto attrs, common_attributes(ctx, operands[kRecurrence], 1));
  return finish(ctx, ops::rnn_op, std::move(operands), std::move(attrs), 2);
}

}  // namespace scanloom::onnx
