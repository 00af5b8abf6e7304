#include "runtime/objects.h"

#include <algorithm>
#include <utility>

#include "plan/bind/dynamic.h"
#include "tensor/rows.h"
#include "tensor/strided_copy.h"

namespace scanloom::runtime {

using tensor::ObjectRef;
using tensor::Tensor;

namespace {

/// Returns an estimate, high for most operators, of the time that a call spends on a value that it
/// reads or makes. Sequences are passed by reference.
std::int64_t nanoseconds_for(const ObjectRef& value) {
  if (!value || !value->is_tensor()) return 0;
  const Tensor& tensor = value->tensor();
  return tensor.elements() * (tensor.dtype() == DType::string ? 50 : 2);
}

}  // namespace

void Objects::begin_run(std::span<const ObjectRef> fed) {
  const std::vector<plan::ObjectInit>& inits = values_.binding.objects;
  values_.objects.resize(inits.size());
  for (std::size_t i = 0; i < inits.size(); ++i) {
    const plan::ObjectInit& init = inits[i];
    if (init.kind == plan::ObjectInit::Kind::constant)
      values_.objects[i] = ObjectRef::of(init.constant);
    if (init.kind == plan::ObjectInit::Kind::feed)
      values_.objects[i] = fed[static_cast<std::size_t>(init.feed)];
  }
}

void Objects::end_run() {
  std::ranges::fill(values_.objects, ObjectRef());
  std::ranges::fill(inputs_, ObjectRef());
  std::ranges::fill(outputs_, ObjectRef());
}

Expected<ObjectRef> Objects::input_at(const plan::Spot& spot, const tensor::Operand& bound,
                                      bool moved) {
  if (!spot.present()) return ObjectRef();
  if (spot.is_object()) return moved ? std::move(values_.object(spot)) : values_.object(spot);
  const tensor::Operand value = spot.is_dynamic() ? values_.operand(spot) : bound;
  tensor::MemoryAccount& account = memory_.account();
  // A non-contiguous tensor is copied, and a sequence may keep the copy.
  if (!value.contiguous)
    SCANLOOM_CHECK_OK(
        account.check(value.elements() * static_cast<std::int64_t>(dtype_bytes(value.dtype))));
  SCANLOOM_TRY(Tensor lent, plan::as_tensor(value));
  if (lent.owner() != nullptr) {
    SCANLOOM_TRY(lent, account.count(std::move(lent)));
  }
  return ObjectRef::of(std::move(lent));
}

Expected<void> Objects::run(std::uint32_t index) {
  const plan::BoundObjectCall& call = values_.binding.object_calls[index];
  const plan::Spot* const spots = values_.binding.operands.data() + call.first_operand;
  tensor::MemoryAccount& account = memory_.update_account();
  inputs_.clear();
  outputs_.assign(call.outputs, ObjectRef());
  for (std::size_t i = 0; i < call.inputs; ++i) {
    Expected<ObjectRef> input =
        input_at(spots[i], values_.operands[call.first_operand + i], call.moved[i]);
    if (!input) return std::move(input).error().at(values_.describe(call.node));
    progress_.charge(nanoseconds_for(*input));
    inputs_.push_back(*std::move(input));
  }
  SCANLOOM_CHECK_OK(plan::run_object(*values_.binding.plan, call.node, inputs_, outputs_, account));
  memory_.note_taken();
  for (std::size_t i = 0; i < call.outputs; ++i) {
    const plan::Spot& spot = spots[call.inputs + i];
    progress_.charge(nanoseconds_for(outputs_[i]));
    if (spot.is_object())
      values_.object(spot) = std::move(outputs_[i]);
    else
      SCANLOOM_CHECK_OK(store(outputs_[i], spot, call.node));
  }
  inputs_.clear();
  outputs_.clear();
  return {};
}

Expected<void> Objects::store(const ObjectRef& value, const plan::Spot& spot, ir::NodeId node) {
  const Tensor& tensor = value->tensor();
  if (tensor.dtype() != spot.dtype)
    return fail(Code::internal, "{}: the result is {}, not {}", values_.describe(node),
                dtype_name(tensor.dtype()), dtype_name(spot.dtype));
  const tensor::Shape strides = tensor::contiguous_strides(tensor.shape());
  if (spot.is_dynamic()) {
    values_.dynamic(spot) = {nullptr, tensor.owner(), tensor.shape(), strides};
    values_.slot(spot.slot) = static_cast<std::byte*>(const_cast<void*>(tensor.data()));
    return {};
  }
  const plan::Layout& layout = values_.binding.layouts[static_cast<std::size_t>(spot.layout)];
  if (!(layout.dims == tensor.shape()))
    return fail(Code::invalid_argument, "{}: the result has sizes {}, but {} were expected",
                values_.describe(node), tensor.shape().to_string(), layout.dims.to_string());
  if (tensor.elements() > 0)
    tensor::copy_strided(spot.dtype, layout.dims.dims(),
                         static_cast<const std::byte*>(tensor.data()), strides.data(),
                         values_.address(spot), layout.strides.data());
  return {};
}

Expected<ObjectRef> Objects::counted(Tensor tensor) {
  tensor::MemoryAccount& account = memory_.account();
  SCANLOOM_TRY(Tensor counted, account.count(std::move(tensor)));
  ObjectRef value = ObjectRef::of(std::move(counted));
  SCANLOOM_CHECK_OK(account.count(*value));
  return value;
}

Expected<std::int64_t> Objects::slice_count(const plan::BoundScanned& port, ir::NodeId node) {
  const tensor::Shape dims = port.outer.is_object() ? values_.object(port.outer)->tensor().shape()
                                                    : values_.operand(port.outer).shape();
  const int axis = static_cast<int>(port.slices.axis);
  if (axis >= dims.rank())
    return fail(Code::invalid_argument, "{}: scanned axis {} of a value of rank {}",
                values_.describe(node), axis, dims.rank());
  return port.window(dims[axis]).count;
}

Expected<void> Objects::set_slice(const plan::BoundScanned& port, std::int64_t step,
                                  ir::NodeId node) {
  const Tensor& whole = values_.object(port.outer)->tensor();
  const int axis = static_cast<int>(port.slices.axis);
  const std::int64_t first = port.window(whole.shape()[axis]).first + step * port.slices.stride;
  tensor::MemoryAccount& account = memory_.update_account();
  const auto slice = [&]() -> Expected<ObjectRef> {
    SCANLOOM_CHECK_OK(account.check(tensor::bytes_of_slice(whole, axis, first, port.slices.part)));
    SCANLOOM_TRY(Tensor made,
                 tensor::slice(whole, axis, first, port.slices.part, port.slices.squeeze));
    return counted(std::move(made));
  };
  Expected<ObjectRef> made = slice();
  if (!made) return std::move(made).error().at(values_.describe(node));
  values_.object(port.argument) = *std::move(made);
  return {};
}

}  // namespace scanloom::runtime
