#include "api/part_updates.h"

#include <algorithm>
#include <array>
#include <memory>

#include "ir/infer_node.h"
#include "ir/op_def.h"
#include "ir/walk.h"
#include "ops/ops.h"
#include "tensor/call.h"
#include "tensor/tensor.h"

namespace scanloom {
namespace {

using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

/// The nodes from a variable's value to its next value, last one first.
struct Chain {
  std::vector<NodeId> nodes;  ///< up to the first that writes
  std::vector<NodeId> writes;
};

bool has_type_of(const Module& module, ValueId value, ValueId other) {
  return module.value(value).type == module.value(other).type;
}

/// Whether the node passes on the elements of its operand unchanged, in the same order.
bool keeps_elements(const Node& node) {
  return node.op == &ops::reshape_op || node.op == &ops::flatten_op || node.op == &ops::identity_op;
}

/// nullopt: the next value is computed in another way, or an intermediate value is also read
/// elsewhere.
std::optional<Chain> chain_of(const Module& module, ValueId argument, ValueId next,
                              const std::vector<std::uint32_t>& uses) {
  if (!has_type_of(module, next, argument) || module.value(next).type.dtype == DType::string)
    return std::nullopt;
  Chain chain;
  std::vector<NodeId> passed;
  bool is_read_alone = true;
  for (ValueId at = next; at != argument;) {
    const NodeId id = module.value(at).producer;
    if (!id.valid() || module.node(id).parent != module.top()) return std::nullopt;
    const Node& node = module.node(id);
    is_read_alone &= uses[at.index] == 1;
    passed.push_back(id);
    if (node.op->writes_part) {
      const ValueId to = node.inputs[0];
      const bool is_flat = !has_type_of(module, to, argument);
      if (!is_read_alone || (is_flat && module.value(to).type.rank() != 1)) return std::nullopt;
      chain.writes.push_back(id);
      chain.nodes = passed;
    } else if (!keeps_elements(node)) {
      return std::nullopt;
    }
    at = node.inputs[0];
  }
  if (chain.writes.empty()) return std::nullopt;
  return chain;
}

PartWrite write_of(const Module& module, NodeId id, ValueId argument) {
  const Node& node = module.node(id);
  return {.op = node.op,
          .attrs = node.attrs,
          .node = module.describe(id),
          .operands = {},
          .is_flat = !has_type_of(module, node.inputs[0], argument)};
}

class Splitter {
 public:
  Splitter(Module module, const UpdateSites& sites)
      : split_{std::move(module), {}}, sites_(sites), uses_(ir::count_uses(split_.module)) {}

  SplitUpdates split() {
    Module& module = split_.module;
    ir::Region& top = module.region(module.top());
    const auto own = static_cast<std::ptrdiff_t>(sites_.first);
    yields_.assign(top.yields.begin(), top.yields.begin() + own);
    names_.assign(module.output_names.begin(), module.output_names.begin() + own);
    for (std::size_t i = 0; i < sites_.arguments.size(); ++i)
      split_.updates.push_back(update_of(top.yields[sites_.first + i], sites_.arguments[i],
                                         module.output_names[sites_.first + i]));
    if (gone_.empty()) return std::move(split_);
    std::ranges::sort(gone_);
    std::erase_if(top.nodes, [&](NodeId id) { return std::ranges::binary_search(gone_, id); });
    top.yields = std::move(yields_);
    module.output_names = std::move(names_);
    module.declared_outputs.clear();
    return std::move(split_);
  }

 private:
  SharedUpdate update_of(ValueId next, std::optional<std::size_t> argument,
                         const std::string& name) {
    const Module& module = split_.module;
    const ValueId now = argument ? module.region(module.top()).args[*argument] : ValueId();
    const auto chain = argument ? chain_of(module, now, next, uses_) : std::nullopt;
    SharedUpdate update;
    if (!chain) update.whole = add(next, name);
    if (!chain) return update;
    for (auto id = chain->writes.rbegin(); id != chain->writes.rend(); ++id) {
      PartWrite write = write_of(module, *id, now);
      const std::vector<ValueId>& inputs = module.node(*id).inputs;
      for (std::size_t k = 1; k < inputs.size(); ++k)
        write.operands.push_back(inputs[k].valid() ? std::optional(add(inputs[k], name))
                                                   : std::nullopt);
      update.writes.push_back(std::move(write));
    }
    gone_.insert(gone_.end(), chain->nodes.begin(), chain->nodes.end());
    return update;
  }

  std::size_t add(ValueId value, const std::string& name) {
    yields_.push_back(value);
    names_.push_back(name);
    return yields_.size() - 1;
  }

  SplitUpdates split_;
  const UpdateSites& sites_;
  const std::vector<std::uint32_t> uses_;
  std::vector<ValueId> yields_;     ///< the module's new yields
  std::vector<std::string> names_;  ///< of these
  std::vector<NodeId> gone_;
};

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

}  // namespace

SplitUpdates split_updates(Module module, const UpdateSites& sites) {
  return Splitter(std::move(module), sites).split();
}

Expected<WriteParts> prepare_writes(const SharedUpdate& update, DType dtype,
                                    const tensor::Shape& shape, std::span<const Value> results) {
  auto writes = std::make_shared<std::vector<std::unique_ptr<BoundWrite>>>();
  for (const PartWrite& write : update.writes) {
    writes->push_back(std::make_unique<BoundWrite>(write, dtype, shape, results));
    SCANLOOM_CHECK_OK(writes->back()->check());
  }
  return WriteParts([writes](void* elements) {
    // Cannot fail: check() found nothing wrong with all elements at one address.
    for (const auto& write : *writes) (void)write->apply(elements);
  });
}

}  // namespace scanloom
