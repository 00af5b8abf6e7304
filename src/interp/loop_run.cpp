#include "interp/loop_run.h"

#include <algorithm>

#include "ir/empty_stacks.h"
#include "ir/op_def.h"
#include "ir/port_names.h"
#include "tensor/fixed_sizes.h"
#include "tensor/rows.h"

namespace scanloom::interp {
namespace {

using ir::LoopPorts;
using tensor::ObjectRef;
using tensor::Shape;
using tensor::Tensor;

}  // namespace

Expected<bool> read_condition(const ObjectRef& value, std::string_view what) {
  const Tensor& tensor = value->tensor();
  if (tensor.dtype() != DType::boolean || tensor.elements() != 1)
    return fail(Code::invalid_argument, "the {} is {}{}, but must be one boolean", what,
                dtype_name(tensor.dtype()), tensor.shape().to_string());
  return *static_cast<const std::uint8_t*>(tensor.data()) != 0;
}

LoopRun::LoopRun(const ir::Module& module, ir::NodeId node, std::vector<ObjectRef> inputs,
                 const InterpretOptions& options, tensor::MemoryAccount& memory)
    : module_(&module),
      node_(node),
      inputs_(std::move(inputs)),
      options_(&options),
      memory_(&memory),
      rows_(module.node(node).loop->stacked.size()),
      rows_held_(rows_.size()) {
  // Moves sequences and optionals, so that the body may change them in place.
  for (std::size_t i = 0; i < ports().carried; ++i) {
    ObjectRef& initial = inputs_[ports().first_carried_input() + i];
    carried_.push_back(initial->is_tensor() ? initial : std::move(initial));
  }
}

Expected<LoopRun> LoopRun::start(const ir::Module& module, ir::NodeId node,
                                 std::vector<ObjectRef> inputs, const InterpretOptions& options,
                                 tensor::MemoryAccount& memory) {
  LoopRun run(module, node, std::move(inputs), options, memory);
  SCANLOOM_CHECK_OK(run.read_controls());
  SCANLOOM_CHECK_OK(run.open_windows());
  return run;
}

Expected<void> LoopRun::read_controls() {
  if (ports().has_trip_count) {
    const Tensor& count = inputs_[0]->tensor();
    if (count.dtype() != DType::i64 || count.elements() != 1)
      return fail(Code::invalid_argument, "the trip count is {}{}, but must be one i64",
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
    const Tensor& whole = inputs_[ports().first_scanned_input() + i]->tensor();
    if (port.axis >= whole.shape().rank())
      return fail(Code::invalid_argument, "{} is {}{}, which has no axis {} to scan",
                  ir::describe_scanned(*module_, node_, i), dtype_name(whole.dtype()),
                  whole.shape().to_string(), port.axis);
    windows_.push_back(scan_window(port, whole.shape()[static_cast<int>(port.axis)]));
    const std::int64_t slices = windows_.back().count;
    if (counted && slices < steps_)
      return fail(Code::invalid_argument, "{} has {} slices on axis {}, but the trip count is {}",
                  ir::describe_scanned(*module_, node_, i), slices, port.axis, steps_);
    if (!counted && i > 0 && slices != steps_)
      return fail(Code::invalid_argument, "{} has {} slices on axis {}, but {} has {}",
                  ir::describe_scanned(*module_, node_, i), slices, port.axis,
                  ir::describe_scanned(*module_, node_, 0), steps_);
    if (!counted) steps_ = slices;
    has_end_ = true;
  }
  return {};
}

Expected<std::vector<ObjectRef>> LoopRun::arguments() {
  if (!has_end_ && step_ >= options_->max_steps)
    return fail(Code::limit_reached, "has taken {} steps without ending; the limit max_steps is {}",
                step_, options_->max_steps);
  if (options_->max_steps_of_any >= 0 && step_ >= options_->max_steps_of_any)
    return fail(Code::limit_reached, "the step limit of {} was reached", options_->max_steps_of_any)
        .note("raise it with the option max_steps");
  const LoopPorts& ports = this->ports();
  std::vector<ObjectRef> args;
  const auto captured = inputs_.begin() + ports.first_captured_input();
  args.assign(captured, captured + ports.captured);
  for (ObjectRef& state : carried_) args.push_back(state->is_tensor() ? state : std::move(state));
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    const ir::ScannedPort& port = ports.scanned[i];
    const std::int64_t first = windows_[i].first + step_ * port.stride;
    const Tensor& whole = inputs_[ports.first_scanned_input() + i]->tensor();
    SCANLOOM_CHECK_OK(memory_->check(
        tensor::bytes_of_slice(whole, static_cast<int>(port.axis), first, port.part)));
    SCANLOOM_TRY(Tensor part,
                 tensor::slice(whole, static_cast<int>(port.axis), first, port.part, port.squeeze));
    SCANLOOM_TRY(Tensor counted, memory_->count(std::move(part)));
    args.push_back(ObjectRef::of(std::move(counted)));
    SCANLOOM_CHECK_OK(memory_->count(*args.back()));
  }
  return args;
}

Expected<void> LoopRun::take(std::vector<ObjectRef> yields) {
  const LoopPorts& ports = this->ports();
  if (ports.has_keep_going) {
    SCANLOOM_TRY(going_, read_condition(yields[0], "yielded keep_going"));
  }
  for (std::size_t i = 0; i < carried_.size(); ++i) {
    ObjectRef& next = yields[ports.first_carried_yield() + i];
    if (ports.fixed_sizes && next->is_tensor())
      SCANLOOM_CHECK_OK(
          tensor::check_fixed_sizes([&] { return ir::describe_carried(*module_, node_, i); }, step_,
                                    carried_[i]->tensor().shape(), next->tensor().shape()));
    carried_[i] = std::move(next);
  }
  for (std::size_t i = 0; i < rows_.size(); ++i)
    SCANLOOM_CHECK_OK(take_row(i, yields[ports.first_stacked_yield() + i]->tensor()));
  ++step_;
  return {};
}

Expected<void> LoopRun::take_row(std::size_t i, const Tensor& row) {
  const ir::StackedPort& port = ports().stacked[i];
  std::vector<Tensor>& rows = rows_[i];
  SCANLOOM_CHECK_OK(tensor::check_row(
      rows, row, [&] { return ir::describe_stacked(*module_, node_, i); }, port.axis, port.insert));
  // A row that is the same in all steps takes no new memory, but its Tensor object does.
  if (rows.size() == rows.capacity()) {
    const std::size_t room = std::max<std::size_t>(2 * rows.size(), 8);
    SCANLOOM_TRY(rows_held_[i], memory_->hold(static_cast<std::int64_t>(room * sizeof(Tensor))));
    rows.reserve(room);
  }
  rows.push_back(row);
  return {};
}

Expected<std::vector<ObjectRef>> LoopRun::results() {
  std::vector<ObjectRef> results = std::move(carried_);
  if (step_ == 0) {
    SCANLOOM_TRY(std::vector<Tensor> stacks, empty_stacks());
    for (Tensor& stack : stacks) results.push_back(ObjectRef::of(std::move(stack)));
    return results;
  }
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const ir::StackedPort& port = ports().stacked[i];
    SCANLOOM_CHECK_OK(memory_->check(tensor::bytes_of_rows(rows_[i])));
    SCANLOOM_TRY(Tensor all, tensor::join_rows(rows_[i], static_cast<int>(port.axis), port.insert,
                                               port.reverse));
    SCANLOOM_TRY(Tensor counted, memory_->count(std::move(all)));
    results.push_back(ObjectRef::of(std::move(counted)));
    SCANLOOM_CHECK_OK(memory_->count(*results.back()));
  }
  return results;
}

Expected<std::vector<Tensor>> LoopRun::empty_stacks() const {
  std::vector<Tensor> stacks;
  if (rows_.empty()) return stacks;
  std::vector<Tensor> inputs;
  for (const ObjectRef& input : inputs_)
    inputs.push_back(input && input->is_tensor() ? input->tensor() : Tensor());
  SCANLOOM_TRY(const std::vector<Shape> shapes, ir::empty_stacks(*module_, node_, inputs));
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const ir::ValueId output = module_->node(node_).outputs[ports().carried + i];
    SCANLOOM_TRY(Tensor empty, Tensor::zeros(module_->value(output).type.dtype, shapes[i]));
    stacks.push_back(std::move(empty));
  }
  return stacks;
}

}  // namespace scanloom::interp
