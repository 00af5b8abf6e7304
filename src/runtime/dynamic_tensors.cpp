#include "runtime/dynamic_tensors.h"

#include <algorithm>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "base/large_pages.h"
#include "tensor/strided_copy.h"

namespace scanloom::runtime {

Expected<void> DynamicTensors::reserve(const plan::Spot& spot, const tensor::Shape& dims,
                                       ir::NodeId node, std::int64_t wish) {
  DynamicTensor& value = values_.dynamic(spot);
  const std::int64_t bytes = dims.elements() * static_cast<std::int64_t>(dtype_bytes(spot.dtype));
  const bool has_room =
      value.storage && value.storage.use_count() == 1 && value.storage->capacity >= bytes;
  if (!has_room) {
    const std::int64_t old = value.storage ? value.storage->capacity : 0;
    std::int64_t capacity = std::max<std::int64_t>({bytes, std::min(2 * old, 2 * bytes), wish, 64});
    // The present storage is no longer needed: free it first.
    value.storage.reset();
    value.lender.reset();
    if (!memory_.make_room(capacity)) capacity = std::max<std::int64_t>(bytes, 64);
    if (!memory_.fits(capacity))
      return fail(Code::limit_reached,
                  "{}: {} more bytes for a value of sizes {} exceed the memory budget, of which {} "
                  "bytes are left",
                  values_.describe(node), capacity, dims.to_string(), memory_.left())
          .note("raise it with the option max_memory");
    std::unique_ptr<std::byte[]> memory(new (std::nothrow)
                                            std::byte[static_cast<std::size_t>(capacity)]);
    if (!memory)
      return fail(Code::out_of_memory, "{}: out of memory: {} bytes are needed",
                  values_.describe(node), capacity);
    prefer_large_pages(memory.get(), static_cast<std::size_t>(capacity));
    value.storage = std::make_shared<Storage>(std::move(memory), capacity, memory_.budget());
    memory_.note_taken();
  }
  value.storage->run = run_;
  value.lender.reset();
  value.dims = dims;
  value.strides = tensor::contiguous_strides(dims);
  values_.slot(spot.slot) = value.storage->bytes.get();
  return {};
}

bool DynamicTensors::share(const plan::Spot& from, const plan::Spot& to, bool moved) {
  if (!from.is_dynamic()) return false;
  DynamicTensor& source = values_.dynamic(from);
  if (moved && source.storage) {
    std::swap(values_.dynamic(to), source);  // the next value of `from` reuses the freed memory
    std::swap(values_.slot(to.slot), values_.slot(from.slot));
    return true;
  }
  if (!source.storage && !source.lender) return false;
  values_.dynamic(to) = source;
  values_.slot(to.slot) = values_.slot(from.slot);
  return true;
}

Expected<void> DynamicTensors::assign(const plan::Spot& from, const plan::Spot& to, ir::NodeId node,
                                      bool moved) {
  if (to.is_object()) {
    values_.object(to) = moved ? std::move(values_.object(from)) : values_.object(from);
    return {};
  }
  if (!to.is_dynamic()) {
    values_.slot(to.slot) = values_.address(from) - to.offset;
    return {};
  }
  if (share(from, to, moved)) return {};
  const tensor::Operand source = values_.operand(from);
  const tensor::Shape dims = source.shape();
  SCANLOOM_CHECK_OK(reserve(to, dims, node));
  const tensor::Shape strides(std::span(source.strides, static_cast<std::size_t>(source.rank)));
  if (dims.elements() > 0)
    tensor::copy_strided(to.dtype, dims.dims(), source.data<const std::byte>(), strides.data(),
                         values_.slot(to.slot), values_.dynamic(to).strides.data());
  return {};
}

Expected<std::byte*> DynamicTensors::first_slice(const plan::BoundScanned& port, ir::NodeId node) {
  if (!port.outer.is_dynamic()) return values_.address(port.outer) + port.first_bytes;
  if (!values_.operand(port.outer).contiguous) {
    DynamicTensor& value = values_.dynamic(port.outer);
    const DynamicTensor before = value;
    const std::byte* const from = values_.address(port.outer);
    value.storage.reset();
    SCANLOOM_CHECK_OK(reserve(port.outer, before.dims, node));
    if (before.dims.elements() > 0)
      tensor::copy_strided(port.outer.dtype, before.dims.dims(), from, before.strides.data(),
                           values_.address(port.outer), value.strides.data());
  }
  const std::int64_t first = port.window(values_.dynamic(port.outer).dims[0]).first;
  return values_.address(port.outer) + first * (port.step_bytes / port.slices.stride);
}

void DynamicTensors::set_slice(const plan::BoundScanned& port, std::int64_t step) {
  const tensor::Operand outer = values_.operand(port.outer);
  const int axis = static_cast<int>(port.slices.axis);
  const auto window = port.window(outer.dims[axis]);
  DynamicTensor& slice = values_.dynamic(port.argument);
  slice.storage.reset();
  slice.lender.reset();
  slice.dims = outer.shape();
  slice.strides = tensor::Shape(std::span(outer.strides, static_cast<std::size_t>(outer.rank)));
  const auto width = static_cast<std::int64_t>(dtype_bytes(port.outer.dtype));
  const std::int64_t first = window.first + step * port.slices.stride;
  values_.slot(port.argument.slot) =
      values_.address(port.outer) + first * slice.strides[axis] * width;
  if (port.slices.squeeze) {
    slice.dims.erase(axis);
    slice.strides.erase(axis);
  } else {
    slice.dims[axis] = port.slices.part;
  }
}

void DynamicTensors::release_unwritten() {
  for (DynamicTensor& value : values_.dynamic_tensors)
    if (value.storage && value.storage->run != run_) value.storage.reset();
}

void DynamicTensors::release_all() {
  for (DynamicTensor& value : values_.dynamic_tensors) value.storage.reset();
}

void DynamicTensors::return_borrowed() {
  for (DynamicTensor& value : values_.dynamic_tensors) value.lender.reset();
}

}  // namespace scanloom::runtime
