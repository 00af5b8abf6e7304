// Objects: sequences, optionals and strings, held by reference. Calls on them may allocate; tensors
// that such calls read in the arena are lent for the call, and those that come out of a sequence
// are read where they are.
#include <algorithm>

#include "plan/bind/dynamic.h"
#include "plan/port_names.h"
#include "runtime/state.h"
#include "tensor/rows.h"
#include "tensor/strided_copy.h"

namespace scanloom::runtime {

using tensor::BoxRef;
using tensor::Tensor;

namespace {

/// What a call that reads or makes the value may take for it, more than most do. Sequences are
/// handed on.
std::int64_t nanoseconds_of(const BoxRef& value) {
  if (!value || !value->is_tensor()) return 0;
  const Tensor& tensor = value->tensor();
  return tensor.elements() * (tensor.dtype() == DType::string ? 50 : 2);
}

}  // namespace

void Run::State::begin_objects(std::span<const BoxRef> fed) {
  account.set_make_room([this] {
    if (!raise_budget()) drop_kept();
    return counted_elsewhere();
  });
  objects.resize(binding->objects.size());
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const plan::ObjectInit& init = binding->objects[i];
    if (init.kind == plan::ObjectInit::Kind::constant) objects[i] = BoxRef::of(init.constant);
    if (init.kind == plan::ObjectInit::Kind::feed)
      objects[i] = fed[static_cast<std::size_t>(init.feed)];
  }
}

/// What a run leaves behind: references to feeds, items and rows that nobody needs.
void Run::State::drop_objects() {
  std::ranges::fill(objects, BoxRef());
  std::ranges::fill(object_inputs, BoxRef());
  std::ranges::fill(object_outputs, BoxRef());
  for (BoxedValue& value : boxed) value.lender.reset();
  for (LoopState& loop : loops)
    for (std::vector<Tensor>& rows : loop.rows) rows.clear();
}

/// The tensor at a spot; not defined where there is none.
Expected<Tensor> Run::State::tensor_at(const plan::Spot& spot) {
  if (!spot.present()) return Tensor();
  if (!spot.is_object()) return plan::as_tensor(operand(spot));
  const BoxRef& value = object(spot);
  return value && value->is_tensor() ? value->tensor() : Tensor();
}

Expected<BoxRef> Run::State::boxed_operand(const plan::Spot& spot, const tensor::Operand& bound,
                                           bool moved) {
  if (!spot.present()) return BoxRef();
  if (spot.is_object()) return moved ? std::move(object(spot)) : object(spot);
  const tensor::Operand value = spot.is_dynamic() ? operand(spot) : bound;
  // What is not in order is copied, and a sequence may keep the copy.
  if (!value.contiguous)
    SCANLOOM_CHECK_OK(
        account.check(value.elements() * static_cast<std::int64_t>(dtype_bytes(value.dtype))));
  SCANLOOM_TRY(Tensor lent, plan::as_tensor(value));
  if (lent.owner() != nullptr) {
    SCANLOOM_TRY(lent, account.count(std::move(lent)));
  }
  return BoxRef::of(std::move(lent));
}

Expected<void> Run::State::run_object(std::uint32_t index) {
  const plan::ObjectCall& call = binding->object_calls[index];
  const plan::Spot* const spots = binding->operands.data() + call.first_operand;
  account.set_elsewhere(counted_elsewhere());
  object_inputs.clear();
  object_outputs.assign(call.outputs, BoxRef());
  for (std::size_t i = 0; i < call.inputs; ++i) {
    Expected<BoxRef> input =
        boxed_operand(spots[i], operands[call.first_operand + i], call.moved[i]);
    if (!input) return std::move(input).error().at(describe(call.node));
    time_left -= nanoseconds_of(*input);
    object_inputs.push_back(*std::move(input));
  }
  SCANLOOM_CHECK_OK(
      plan::run_object(*binding->plan, call.node, object_inputs, object_outputs, account));
  note_taken();
  for (std::size_t i = 0; i < call.outputs; ++i) {
    const plan::Spot& spot = spots[call.inputs + i];
    time_left -= nanoseconds_of(object_outputs[i]);
    if (spot.is_object())
      object(spot) = std::move(object_outputs[i]);
    else
      SCANLOOM_CHECK_OK(unbox(object_outputs[i], spot, call.node));
  }
  object_inputs.clear();
  object_outputs.clear();
  return {};
}

/// Makes a tensor that came out of a call the value of a spot that is no object: boxed ones refer
/// to it, static ones are written.
Expected<void> Run::State::unbox(const BoxRef& value, const plan::Spot& spot, ir::NodeId node) {
  const Tensor& tensor = value->tensor();
  if (tensor.dtype() != spot.dtype)
    return fail(Code::internal, "{}: the result is {}, not {}", describe(node),
                dtype_name(tensor.dtype()), dtype_name(spot.dtype));
  const tensor::Shape strides = tensor::contiguous_strides(tensor.shape());
  if (spot.is_dynamic()) {
    BoxedValue& target = box(spot);
    target = {nullptr, tensor.owner(), tensor.shape(), strides};
    slot(spot.slot) = static_cast<std::byte*>(const_cast<void*>(tensor.data()));
    return {};
  }
  const plan::Layout& layout = binding->layouts[static_cast<std::size_t>(spot.layout)];
  if (!(layout.dims == tensor.shape()))
    return fail(Code::invalid_argument, "{}: the result has sizes {}, {} were expected",
                describe(node), tensor.shape().to_string(), layout.dims.to_string());
  if (tensor.elements() > 0)
    tensor::copy_strided(spot.dtype, layout.dims.dims(),
                         static_cast<const std::byte*>(tensor.data()), strides.data(),
                         address(spot), layout.strides.data());
  return {};
}

Expected<BoxRef> Run::State::counted_box(Tensor tensor) {
  SCANLOOM_TRY(Tensor counted, account.count(std::move(tensor)));
  BoxRef value = BoxRef::of(std::move(counted));
  SCANLOOM_CHECK_OK(account.count(*value));
  return value;
}

/// How many slices a scanned value has now.
Expected<std::int64_t> Run::State::slice_count(const plan::BoundScanned& port, ir::NodeId node) {
  tensor::Shape dims;
  if (port.outer.is_object())
    dims = object(port.outer)->tensor().shape();
  else
    dims = operand(port.outer).shape();
  const int axis = static_cast<int>(port.slices.axis);
  if (axis >= dims.rank())
    return fail(Code::invalid_argument, "{}: scanned axis {} of a value of rank {}", describe(node),
                axis, dims.rank());
  return port.window(dims[axis]).count;
}

Expected<void> Run::State::slice_object(const plan::BoundScanned& port, std::int64_t step,
                                        ir::NodeId node) {
  const Tensor& whole = object(port.outer)->tensor();
  const int axis = static_cast<int>(port.slices.axis);
  const std::int64_t first = port.window(whole.shape()[axis]).first + step * port.slices.stride;
  account.set_elsewhere(counted_elsewhere());
  const auto slice = [&]() -> Expected<BoxRef> {
    SCANLOOM_CHECK_OK(account.check(tensor::bytes_of_slice(whole, axis, first, port.slices.part)));
    SCANLOOM_TRY(Tensor made,
                 tensor::slice(whole, axis, first, port.slices.part, port.slices.squeeze));
    return counted_box(std::move(made));
  };
  Expected<BoxRef> made = slice();
  if (!made) return std::move(made).error().at(describe(node));
  object(port.argument) = *std::move(made);
  return {};
}

Expected<void> Run::State::keep_row(std::uint32_t index, std::size_t port) {
  const plan::BoundLoop& loop = binding->loops[index];
  const plan::BoundStacked& stacked = loop.stacked[port];
  std::vector<Tensor>& rows = loops[index].rows[port];
  SCANLOOM_TRY(Tensor row, tensor_at(stacked.row));
  Expected<void> fits = tensor::check_row(
      rows, row, [&] { return plan::describe_stacked(*binding->plan, loop.node, port); },
      stacked.axis, stacked.insert);
  if (!fits) return std::move(fits).error().at(describe(loop.node));
  account.set_elsewhere(counted_elsewhere());
  if (row.owner() == nullptr) {  // lent: it will change
    SCANLOOM_CHECK_OK(account.check(bytes_with_text(row)));
    SCANLOOM_TRY(row, Tensor::copy_of(row.dtype(), row.shape(), row.data()));
  }
  // A row that is the same in all steps takes no new memory, but what describes it does.
  Expected<Tensor> counted = account.count(row);
  if (!counted) return std::move(counted).error().at(describe(loop.node));
  rows.push_back(*std::move(counted));
  return {};
}

Expected<void> Run::State::join_rows(std::uint32_t index, std::size_t port) {
  const plan::BoundLoop& loop = binding->loops[index];
  const plan::BoundStacked& stacked = loop.stacked[port];
  std::vector<Tensor>& rows = loops[index].rows[port];
  account.set_elsewhere(counted_elsewhere());
  const auto join = [&]() -> Expected<BoxRef> {
    SCANLOOM_CHECK_OK(account.check(tensor::bytes_of_rows(rows)));
    SCANLOOM_TRY(Tensor made, tensor::join_rows(rows, static_cast<int>(stacked.axis),
                                                stacked.insert, stacked.reverse));
    note_taken(bytes_with_text(made));
    rows.clear();
    return counted_box(std::move(made));
  };
  Expected<BoxRef> all = join();
  if (!all) return std::move(all).error().at(describe(loop.node));
  if (!stacked.result.is_object()) return unbox(*all, stacked.result, loop.node);
  object(stacked.result) = *std::move(all);
  return {};
}

}  // namespace scanloom::runtime
