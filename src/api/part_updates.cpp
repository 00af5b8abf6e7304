#include "api/part_updates.h"

#include <algorithm>
#include <array>
#include <memory>

#include "ir/infer_node.h"
#include "ir/op_def.h"
#include "tensor/call.h"
#include "tensor/tensor.h"

namespace scanloom {
namespace {

/// Operands of one call, whose elements are at `slots`.
class Operands {
 public:
  explicit Operands(std::size_t count) : operands_(count), slots_(count), shapes_(count) {}
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;

  void set(std::size_t i, DType dtype, const tensor::Shape& dims, const tensor::Shape& strides,
           const void* data) {
    shapes_[i] = {dims, strides};
    // Kernels write only to results.
    slots_[i] = static_cast<std::byte*>(const_cast<void*>(data));
    operands_[i] = {.slot = &slots_[i],
                    .offset = 0,
                    .dims = shapes_[i][0].data(),
                    .strides = shapes_[i][1].data(),
                    .rank = dims.rank(),
                    .dtype = dtype,
                    .contiguous = tensor::is_contiguous(dims.dims(), strides.dims())};
  }
  [[nodiscard]] const tensor::Operand& operator[](std::size_t i) const { return operands_[i]; }
  [[nodiscard]] const tensor::Operand* data() const { return operands_.data(); }
  [[nodiscard]] std::size_t count() const { return operands_.size(); }

 private:
  std::vector<tensor::Operand> operands_;
  std::vector<std::byte*> slots_;
  std::vector<std::array<tensor::Shape, 2>> shapes_;  ///< sizes and strides
};

/// A write bound to its operands, which point into the results of a run.
class BoundWrite {
 public:
  BoundWrite(const PartWrite& write, DType dtype, const tensor::Shape& shape,
             std::span<const Value> results)
      : write_(write), dtype_(dtype), shape_(shape), operands_(write.operands.size() + 1) {
    if (write.is_flat) shape_ = {shape.elements()};
    for (std::size_t i = 0; i < write.operands.size(); ++i) {
      if (!write.operands[i]) continue;
      const Value& value = results[*write.operands[i]];
      const tensor::Shape dims{std::span<const std::int64_t>(value.shape())};
      operands_.set(i + 1, value.dtype(), dims, tensor::contiguous_strides(dims), value.data());
    }
  }

  /// Checks sizes and indices without writing to the value.
  Expected<void> check() {
    std::vector<tensor::Type> types(operands_.count());
    std::vector<const tensor::Type*> type_of(operands_.count());
    types[0] = tensor::Type::of(dtype_, shape_);
    type_of[0] = types.data();
    for (std::size_t i = 1; i < operands_.count(); ++i) {
      if (!operands_[i].present()) continue;
      types[i] = tensor::Type::of(operands_[i].dtype, operands_[i].shape());
      type_of[i] = &types[i];
    }
    const std::vector<const ir::Known*> nothing(operands_.count());
    tensor::DimTable dims;
    auto inferred = ir::infer_node(*write_.op, type_of, nothing, write_.attrs, 1, dims);
    if (!inferred) return std::move(inferred).error().at(write_.node);
    // All elements share one address: the write then only finds out whether an index is out of
    // range.
    alignas(16) std::array<std::byte, 64> element{};
    tensor::Shape strides = shape_;
    for (int axis = 0; axis < strides.rank(); ++axis) strides[axis] = 0;
    return call(strides, element.data());
  }

  Expected<void> apply(void* elements) {
    return call(tensor::contiguous_strides(shape_), elements);
  }

 private:
  Expected<void> call(const tensor::Shape& strides, void* elements) {
    operands_.set(0, dtype_, shape_, strides, elements);
    tensor::Fault fault;
    const tensor::Call call{.inputs = operands_.data(),
                            .outputs = operands_.data(),
                            .input_count = static_cast<std::uint16_t>(operands_.count()),
                            .output_count = 1,
                            .attrs = write_.attrs.data(),
                            .fault = &fault};
    if (write_.op->reference(call) == tensor::Status::ok) return {};
    return tensor::to_error(fault).at(write_.node);
  }

  const PartWrite& write_;
  const DType dtype_;
  tensor::Shape shape_;  ///< the value's shape at the write
  Operands operands_;
};

/// Whether its conditions say that the write is done.
bool applies(const PartWrite& write, std::span<const Value> results) {
  return std::ranges::all_of(write.conditions, [&](const WriteCondition& condition) {
    return *static_cast<const bool*>(results[condition.result].data()) == condition.wanted;
  });
}

}  // namespace

Expected<WriteParts> prepare_writes(const SharedUpdate& update, DType dtype,
                                    const tensor::Shape& shape, std::span<const Value> results) {
  auto writes = std::make_shared<std::vector<std::unique_ptr<BoundWrite>>>();
  for (const PartWrite& write : update.writes) {
    if (!applies(write, results)) continue;
    writes->push_back(std::make_unique<BoundWrite>(write, dtype, shape, results));
    SCANLOOM_CHECK_OK(writes->back()->check());
  }
  if (writes->empty()) return WriteParts();
  return WriteParts([writes](void* elements) {
    // Cannot fail: check() found nothing wrong with all elements at one address.
    for (const auto& write : *writes) (void)write->apply(elements);
  });
}

}  // namespace scanloom
