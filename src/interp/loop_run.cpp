#include "interp/loop_run.h"

#include <algorithm>

#include "interp/rows.h"
#include "ir/empty_stacks.h"
#include "ir/op_def.h"
#include "tensor/fixed_sizes.h"

namespace scanloom::interp {
namespace {

using ir::LoopPorts;
using tensor::Shape;
using tensor::Tensor;

/// Whether rows of these shapes can stand side by side.
bool rows_fit(Shape a, Shape b, const ir::StackedPort& port) {
  if (a.rank() != b.rank()) return false;
  if (!port.insert && port.axis < a.rank())
    a[static_cast<int>(port.axis)] = b[static_cast<int>(port.axis)];
  return a == b;
}

}  // namespace

Expected<bool> read_condition(const Tensor& tensor, std::string_view what) {
  if (tensor.dtype() != DType::boolean || tensor.elements() != 1)
    return fail(Code::invalid_argument, "the {} is {}{}, must be one boolean", what,
                dtype_name(tensor.dtype()), tensor.shape().to_string());
  return *static_cast<const std::uint8_t*>(tensor.data()) != 0;
}

LoopRun::LoopRun(const ir::Module& module, ir::NodeId node, std::vector<Tensor> inputs,
                 const InterpretOptions& options, MemoryAccount& memory)
    : module_(&module),
      node_(node),
      inputs_(std::move(inputs)),
      options_(&options),
      memory_(&memory),
      rows_(module.node(node).loop->stacked.size()) {
  const auto first = inputs_.begin() + ports().first_carried_input();
  carried_.assign(first, first + ports().carried);
}

Expected<LoopRun> LoopRun::start(const ir::Module& module, ir::NodeId node,
                                 std::vector<Tensor> inputs, const InterpretOptions& options,
                                 MemoryAccount& memory) {
  LoopRun run(module, node, std::move(inputs), options, memory);
  SCANLOOM_CHECK_OK(run.read_controls());
  SCANLOOM_CHECK_OK(run.open_windows());
  return run;
}

Expected<void> LoopRun::read_controls() {
  if (ports().has_trip_count) {
    const Tensor& count = inputs_[0];
    if (count.dtype() != DType::i64 || count.elements() != 1)
      return fail(Code::invalid_argument, "the trip count is {}{}, must be one i64",
                  dtype_name(count.dtype()), count.shape().to_string());
    const std::int64_t steps = count.as<std::int64_t>()[0];
    has_end_ = steps < ir::kEndlessTripCount;
    if (has_end_) steps_ = std::max<std::int64_t>(steps, 0);
  }
  if (ports().has_condition) {
    SCANLOOM_TRY(going_, read_condition(inputs_[ports().has_trip_count], "condition"));
  }
  return {};
}

Expected<void> LoopRun::open_windows() {
  const bool counted = has_end_;
  for (std::size_t i = 0; i < ports().scanned.size(); ++i) {
    const ir::ScannedPort& port = ports().scanned[i];
    const Tensor& whole = inputs_[ports().first_scanned_input() + i];
    if (port.axis >= whole.shape().rank())
      return fail(Code::invalid_argument, "scanned value {} is {}{} and has no axis {}", i,
                  dtype_name(whole.dtype()), whole.shape().to_string(), port.axis);
    windows_.push_back(scan_window(port, whole.shape()[static_cast<int>(port.axis)]));
    const std::int64_t slices = windows_.back().count;
    if (counted && slices < steps_)
      return fail(Code::invalid_argument,
                  "scanned value {} has {} slices on axis {}, the trip count is {}", i, slices,
                  port.axis, steps_);
    if (!counted && i > 0 && slices != steps_)
      return fail(Code::invalid_argument,
                  "scanned value {} has {} slices on axis {}, scanned value 0 has {}", i, slices,
                  port.axis, steps_);
    if (!counted) steps_ = slices;
    has_end_ = true;
  }
  return {};
}

Expected<std::vector<Tensor>> LoopRun::arguments() const {
  if (!has_end_ && step_ >= options_->max_steps)
    return fail(Code::limit_reached,
                "has taken {} steps without an end in sight, the limit max_steps is {}", step_,
                options_->max_steps);
  if (options_->max_steps_of_any >= 0 && step_ >= options_->max_steps_of_any)
    return fail(Code::limit_reached, "the step limit of {} was reached", options_->max_steps_of_any)
        .note("raise it with the option max_steps");
  const LoopPorts& ports = this->ports();
  std::vector<Tensor> args;
  const auto captured = inputs_.begin() + ports.first_captured_input();
  args.assign(captured, captured + ports.captured);
  args.insert(args.end(), carried_.begin(), carried_.end());
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    const ir::ScannedPort& port = ports.scanned[i];
    const std::int64_t first = windows_[i].first + step_ * port.stride;
    SCANLOOM_TRY(Tensor part, slice(inputs_[ports.first_scanned_input() + i],
                                    static_cast<int>(port.axis), first, port.part, port.squeeze));
    SCANLOOM_TRY(Tensor counted, memory_->count(std::move(part)));
    args.push_back(std::move(counted));
  }
  return args;
}

Expected<void> LoopRun::take(std::vector<Tensor> yields) {
  const LoopPorts& ports = this->ports();
  if (ports.has_keep_going) {
    SCANLOOM_TRY(going_, read_condition(yields[0], "yielded keep_going"));
  }
  for (std::size_t i = 0; i < carried_.size(); ++i) {
    Tensor& next = yields[ports.first_carried_yield() + i];
    if (ports.fixed_sizes)
      SCANLOOM_CHECK_OK(tensor::check_fixed_sizes(i, step_, carried_[i].shape(), next.shape()));
    carried_[i] = std::move(next);
  }
  for (std::size_t i = 0; i < rows_.size(); ++i)
    SCANLOOM_CHECK_OK(take_row(i, std::move(yields[ports.first_stacked_yield() + i])));
  ++step_;
  return {};
}

Expected<void> LoopRun::take_row(std::size_t i, Tensor row) {
  const ir::StackedPort& port = ports().stacked[i];
  const int last = port.insert ? row.shape().rank() : row.shape().rank() - 1;
  if (port.axis > last)
    return fail(Code::invalid_argument, "stacked value {} has rows {} and no axis {}", i,
                row.shape().to_string(), port.axis);
  if (!rows_[i].empty() && !rows_fit(rows_[i][0].shape(), row.shape(), port))
    return fail(Code::invalid_argument,
                "stacked value {} has a row of shape {} in step {}, and {} in step 0", i,
                row.shape().to_string(), step_, rows_[i][0].shape().to_string());
  rows_[i].push_back(std::move(row));
  return {};
}

Expected<std::vector<Tensor>> LoopRun::results() const {
  std::vector<Tensor> results = carried_;
  if (step_ == 0) {
    SCANLOOM_TRY(std::vector<Tensor> stacks, empty_stacks());
    std::move(stacks.begin(), stacks.end(), std::back_inserter(results));
    return results;
  }
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const ir::StackedPort& port = ports().stacked[i];
    std::vector<Tensor> rows = rows_[i];
    if (port.reverse) std::reverse(rows.begin(), rows.end());
    SCANLOOM_TRY(Tensor all, join_rows(rows, static_cast<int>(port.axis), port.insert));
    SCANLOOM_TRY(Tensor counted, memory_->count(std::move(all)));
    results.push_back(std::move(counted));
  }
  return results;
}

Expected<std::vector<Tensor>> LoopRun::empty_stacks() const {
  std::vector<Tensor> stacks;
  if (rows_.empty()) return stacks;
  SCANLOOM_TRY(const std::vector<Shape> shapes, ir::empty_stacks(*module_, node_, inputs_));
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const ir::ValueId output = module_->node(node_).outputs[ports().carried + i];
    SCANLOOM_TRY(Tensor empty, Tensor::zeros(module_->value(output).type.dtype, shapes[i]));
    stacks.push_back(std::move(empty));
  }
  return stacks;
}

}  // namespace scanloom::interp
