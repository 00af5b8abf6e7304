// Scan-8: every operand has a leading batch axis, and sequences may differ in length. It becomes a
// loop over the batch whose body is a loop over the steps of one sequence; a backward input starts
// at the last step of the sequence. After the end of a sequence, rows are zeros and states keep
// their values.
#include "frontends/onnx/body.h"
#include "frontends/onnx/ops/converters.h"
#include "frontends/onnx/ops/scan_parts.h"
#include "frontends/onnx/types.h"
#include "ir/port_names.h"
#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;
using tensor::Type;

namespace {

/// The operands of the node, each with its batch axis.
struct BatchedOperands {
  ValueId lengths;  ///< invalid if every sequence has all steps
  std::vector<ValueId> states, scanned;
  ValueId batch, steps;  ///< the number of sequences, and the maximum number of steps
};

Type without_first_axis(Type type) {
  if (type.ranked) type.dims.erase(type.dims.begin());
  return type;
}

Expected<ValueId> batched_operand(NodeCtx& ctx, std::size_t i, const std::string& words, int axes) {
  SCANLOOM_TRY(const ValueId value, ctx.in(static_cast<int>(i) + 1));
  const Type& type = ctx.type(value);
  if (!type.is_tensor())
    return invalid_model("{} is {}, but a tensor is needed", words, describe_elements(type));
  if (type.ranked && type.rank() < axes)
    return invalid_model("{} has {} axes, but at least {} are needed", words, type.rank(), axes);
  return value;
}

Expected<ValueId> sequence_lengths(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId lengths, ctx.optional_in(0));
  if (!lengths.valid()) return lengths;
  const Type& type = ctx.type(lengths);
  if (!type.is_tensor() || type.dtype != DType::i64 || (type.ranked && type.rank() != 1))
    return invalid_model(
        "{}, the lengths of the sequences, is {} of {} axes, but int64 of 1 is needed",
        ctx.describe_input(0), describe_elements(type), type.rank());
  return lengths;
}

Expected<BatchedOperands> batched_operands(NodeCtx& ctx, const ScanCounts& counts) {
  BatchedOperands operands;
  std::vector<MeasuredAxis> batch, steps;
  for (std::size_t i = 0; i < counts.scanned; ++i) {
    const std::size_t position = counts.states + i;
    const std::string words =
        fmt::format("scan input {} '{}'", i, shown_name(ctx.site().node.inputs[position + 1]));
    SCANLOOM_TRY(const ValueId value, batched_operand(ctx, position, words, 2));
    operands.scanned.push_back(value);
    batch.push_back({value, 0, words});
    steps.push_back({value, 1, words});
  }
  for (std::size_t i = 0; i < counts.states; ++i) {
    const std::string words =
        fmt::format("state {} '{}'", i, shown_name(ctx.site().node.inputs[i + 1]));
    SCANLOOM_TRY(const ValueId value, batched_operand(ctx, i, words, 1));
    operands.states.push_back(value);
    batch.push_back({value, 0, words});
  }
  SCANLOOM_TRY(operands.lengths, sequence_lengths(ctx));
  if (operands.lengths.valid()) batch.push_back({operands.lengths, 0, ctx.describe_input(0)});
  SCANLOOM_TRY(operands.batch, common_size(ctx, batch, "sequences"));
  SCANLOOM_TRY(operands.steps, common_size(ctx, steps, "steps"));
  return operands;
}

/// The body of the loop over the batch, while the inner loop over the steps is being read.
class BatchedScan : public OpenNode {
 public:
  static Expected<std::unique_ptr<BatchedScan>> make(NodeCtx& ctx, Body body, ScanCounts counts,
                                                     std::vector<std::int64_t> directions);
  Expected<void> finish(NodeCtx& ctx, std::vector<BodyResult> results) override;

 private:
  BatchedScan(Body body, ScanCounts counts, std::vector<std::int64_t> directions)
      : body_(std::move(body)), counts_(counts), directions_(std::move(directions)) {}

  void enter_batch(NodeCtx& ctx, const BatchedOperands& operands, const Captures& captures);
  Expected<void> cut_sequences(NodeCtx& ctx, ValueId length);
  void add_steps(NodeCtx& ctx);
  Expected<void> request_step(NodeCtx& ctx, const Captures& captures);
  Expected<ValueId> op(const ir::OpDef& op, std::vector<ValueId> inputs,
                       std::vector<ir::NamedAttr> attrs = {}) {
    return builder_->op(op, std::move(inputs), std::move(attrs));
  }
  ValueId list(std::int64_t value) {
    return builder_->constant(tensor::Tensor::of<std::int64_t>({1}, {{value}}));
  }
  Expected<ValueId> as_list(ValueId scalar) {
    return op(ops::unsqueeze_op, {scalar}, {{"axes", std::vector<std::int64_t>{0}}});
  }
  Expected<ValueId> padded(ValueId rows);
  void add_result(NodeCtx& ctx, std::size_t i, ValueId value);

  Body body_;
  ScanCounts counts_;
  std::vector<std::int64_t> directions_;
  ir::NodeId outer_, inner_;
  std::shared_ptr<ir::Builder> builder_;  // of the outer loop's body
  tensor::Dim batch_, steps_dim_;
  // Values of the outer loop's body.
  std::vector<ValueId> captured_, states_, scanned_;
  ValueId all_steps_;  // the maximum length of a sequence
  ValueId steps_;      // the length of this sequence
  bool has_lengths_ = false;
};

void BatchedScan::enter_batch(NodeCtx& ctx, const BatchedOperands& operands,
                              const Captures& captures) {
  ir::Module& module = ctx.module();
  std::vector<ValueId> inputs = {operands.batch};
  inputs.insert(inputs.end(), captures.operands().begin(), captures.operands().end());
  inputs.push_back(operands.steps);
  ir::LoopPorts ports;
  ports.has_trip_count = true;
  ports.captured = static_cast<std::uint32_t>(inputs.size() - 1);
  std::vector<ValueId> scanned = operands.states;
  scanned.insert(scanned.end(), operands.scanned.begin(), operands.scanned.end());
  if (operands.lengths.valid()) scanned.push_back(operands.lengths);
  inputs.insert(inputs.end(), scanned.begin(), scanned.end());
  ports.scanned.assign(scanned.size(), {});
  outer_ =
      module.add_node(ctx.builder().region(), ir::loop_op, inputs, {}, {}, ctx.site().location);
  module.node(outer_).loop = std::move(ports);
  const ir::RegionId region = module.add_region(outer_, "batch");
  module.node(outer_).regions.push_back(region);
  builder_ = std::make_shared<ir::Builder>(module, region);
  builder_->set_location(ctx.site().location);
  const auto argument = [&](Type type) { return module.add_argument(region, std::move(type), {}); };
  for (const ValueId outside : captures.operands())
    captured_.push_back(argument(ctx.type(outside)));
  all_steps_ = argument(ctx.type(operands.steps));
  const auto slice = [&](ValueId outside) {
    return argument(without_first_axis(ctx.type(outside)));
  };
  for (const ValueId outside : operands.states) states_.push_back(slice(outside));
  for (const ValueId outside : operands.scanned) scanned_.push_back(slice(outside));
  batch_ = known_size(ctx, operands.scanned[0], 0).value_or(module.dims.fresh());
  steps_dim_ = known_size(ctx, operands.scanned[0], 1).value_or(module.dims.fresh());
}

/// Sets the number of steps to the length of the sequence, and cuts each backward input to that
/// length.
Expected<void> BatchedScan::cut_sequences(NodeCtx& ctx, ValueId length) {
  const ValueId zero = builder_->constant(tensor::Tensor::scalar<std::int64_t>(0));
  SCANLOOM_TRY(ValueId nearest, op(ops::max_op, {length, zero}));
  SCANLOOM_TRY(nearest, op(ops::min_op, {nearest, all_steps_}));
  SCANLOOM_TRY(
      steps_,
      op(ops::check_equal_op, {length, nearest},
         {{"text", "input 0 gives a sequence {} steps, but the nearest possible number is {}"}}));
  SCANLOOM_TRY(const ValueId end, as_list(steps_));
  for (std::size_t i = 0; i < scanned_.size(); ++i) {
    if (directions_[i] == 0) continue;  // a forward input just leaves its last elements unread
    SCANLOOM_TRY(scanned_[i], op(ops::slice_op, {scanned_[i], list(0), end, list(0)}));
  }
  steps_dim_ = ctx.module().dims.fresh();
  return {};
}

void BatchedScan::add_steps(NodeCtx& ctx) {
  std::vector<ValueId> inputs = {steps_};
  for (const auto* const values : {&captured_, &states_, &scanned_})
    inputs.insert(inputs.end(), values->begin(), values->end());
  ir::LoopPorts ports;
  ports.has_trip_count = true;
  ports.fixed_sizes = true;
  ports.captured = static_cast<std::uint32_t>(captured_.size());
  ports.carried = static_cast<std::uint32_t>(states_.size());
  for (const std::int64_t direction : directions_)
    ports.scanned.push_back({.start = direction == 1 ? -1 : 0, .stride = direction == 1 ? -1 : 1});
  inner_ = ctx.module().add_node(builder_->region(), ir::loop_op, std::move(inputs), {}, {},
                                 ctx.site().location);
  ctx.module().node(inner_).loop = std::move(ports);
}

Expected<void> BatchedScan::request_step(NodeCtx& ctx, const Captures& captures) {
  BodyRequest request = request_body(ctx, body_, inner_);
  captures.enter(ctx, body_, request);
  std::vector<Type> types;
  for (const ValueId state : states_) types.push_back(ctx.type(state));
  for (const ValueId input : scanned_) types.push_back(without_first_axis(ctx.type(input)));
  for (std::size_t i = 0; i < types.size(); ++i) {
    SCANLOOM_TRY(Type type, body_.formal_type(ctx, i, types[i]));
    body_.add_formal(ctx, request, i, std::move(type));
  }
  bodies.push_back(std::move(request));
  return {};
}

Expected<std::unique_ptr<BatchedScan>> BatchedScan::make(NodeCtx& ctx, Body body, ScanCounts counts,
                                                         std::vector<std::int64_t> directions) {
  SCANLOOM_TRY(const BatchedOperands operands, batched_operands(ctx, counts));
  std::unique_ptr<BatchedScan> scan(
      new BatchedScan(std::move(body), counts, std::move(directions)));
  const Captures captures(ctx);
  scan->enter_batch(ctx, operands, captures);
  scan->steps_ = scan->all_steps_;
  scan->has_lengths_ = operands.lengths.valid();
  if (scan->has_lengths_) {
    const ValueId length =
        ctx.module().add_argument(scan->builder_->region(), Type::scalar(DType::i64), "length");
    SCANLOOM_CHECK_OK(scan->cut_sequences(ctx, length));
  }
  scan->add_steps(ctx);
  SCANLOOM_CHECK_OK(scan->request_step(ctx, captures));
  return scan;
}

/// Appends zeros to the rows, up to the maximum length of a sequence.
Expected<ValueId> BatchedScan::padded(ValueId rows) {
  if (!has_lengths_) return rows;
  // Using the size of `rows` instead of steps_ lets inference see that the sizes add up to the
  // maximum length.
  SCANLOOM_TRY(const ValueId own, op(ops::dim_op, {rows}, {{"axis", 0}}));
  SCANLOOM_TRY(ValueId missing, op(ops::sub_op, {all_steps_, own}));
  SCANLOOM_TRY(missing, as_list(missing));
  SCANLOOM_TRY(const ValueId pads, op(ops::concat_op, {list(0), missing}, {{"axis", 0}}));
  return op(ops::pad_op, {rows, pads, ValueId{}, list(0)}, {{"mode", "constant"}});
}

/// Sets output i of the node from what the loop over the batch yields for each sequence.
void BatchedScan::add_result(NodeCtx& ctx, std::size_t i, ValueId value) {
  ir::Module& module = ctx.module();
  module.region(builder_->region()).yields.push_back(value);
  module.node(outer_).loop->stacked.push_back({});
  Type type = ctx.type(value);
  if (type.ranked) type.dims.insert(type.dims.begin(), batch_);
  ctx.set_output(static_cast<int>(i), module.add_output(outer_, std::move(type)));
}

Expected<void> BatchedScan::finish(NodeCtx& ctx, std::vector<BodyResult> results) {
  ir::Module& module = ctx.module();
  BodyResult& body = results[0];
  std::vector<ValueId> yields, made;
  for (std::size_t i = 0; i < counts_.states; ++i) {
    const ValueId next = body.value(i);
    const Type initial = ctx.type(states_[i]);
    if (ctx.type(next).dtype != initial.dtype || ctx.type(next).wraps != initial.wraps)
      return invalid_model("{} is {} before the first step, but the body makes it {}",
                           ir::describe_carried(module, inner_, i), describe_elements(initial),
                           describe_elements(ctx.type(next)));
    yields.push_back(next);
    made.push_back(module.add_output(inner_, initial.ranked ? initial : ctx.type(next)));
  }
  for (std::size_t i = 0; i < counts_.stacked; ++i) {
    const ValueId row = body.value(counts_.states + i);
    Type rows = ctx.type(row);
    if (!rows.is_tensor())
      return invalid_model("{} is {}, but only tensors can be stacked",
                           body_.describe_output(counts_.states + i), describe_elements(rows));
    if (rows.ranked) rows.dims.insert(rows.dims.begin(), steps_dim_);
    yields.push_back(row);
    module.node(inner_).loop->stacked.push_back({});
    made.push_back(module.add_output(inner_, std::move(rows)));
  }
  module.region(body.builder->region()).yields = std::move(yields);
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (i >= counts_.states) {
      SCANLOOM_TRY(made[i], padded(made[i]));
    }
    add_result(ctx, i, made[i]);
  }
  return {};
}

}  // namespace

Expected<void> convert_batched_scan(NodeCtx& ctx) {
  SCANLOOM_TRY(const ScanCounts counts, ScanCounts::of(ctx, 1));
  SCANLOOM_TRY(auto directions, scan_directions(ctx, "directions", counts.scanned, "scan inputs"));
  SCANLOOM_TRY(Body body, Body::of(ctx, "body"));
  SCANLOOM_CHECK_OK(body.check_counts(ctx, counts.states + counts.scanned, "states and scan inputs",
                                      counts.states + counts.stacked, "states and scan outputs"));
  SCANLOOM_TRY(auto scan, BatchedScan::make(ctx, std::move(body), counts, std::move(directions)));
  ctx.open(std::move(scan));
  return {};
}

}  // namespace scanloom::onnx
