#include "passes/nodes/folding.h"

#include <algorithm>

#include "ir/infer.h"
#include "ir/op_def.h"
#include "ir/run_node.h"
#include "ops/ops.h"
#include "passes/nodes/stored_part.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::ValueId;
using tensor::Tensor;

// Results up to this many bytes, or elements, are always allowed.
constexpr std::int64_t kFreeBytes = 1024, kFreeElements = 4096;
// How many elements of element-wise results a module may have that are larger than their operands,
// such as filters that are computed from a row and a column of numbers. Computing them in every run
// takes longer than reading them.
constexpr std::int64_t kExpandedElements = std::int64_t{1} << 18;
// Limits for operators other than those that take constant time per element.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 20;
constexpr std::int64_t kMaxWork = std::int64_t{1} << 26;
// How many elements one round may compute, in all and per element of the module's constants: both
// the constants and the number of nodes that read them are unbounded.
constexpr std::int64_t kRoundElements = std::int64_t{1} << 24, kRoundFactor = 8;

// The most elements of weights that are filled with one number, as models without trained weights
// have them. A run would need as much memory, and products pack such operands if they are
// constants.
constexpr std::int64_t kFilledElements = std::int64_t{1} << 27;

/// Returns the values whose elements inference knows completely; sizes are known without data.
Expected<std::vector<std::shared_ptr<const ir::Known>>> known_sizes(const Module& module) {
  std::vector<ir::Type> arguments;
  for (const ValueId arg : module.region(module.top()).args)
    arguments.push_back(module.value(arg).type);
  tensor::DimTable dims = module.dims;
  SCANLOOM_TRY(ir::Inference inference, infer(module, arguments, dims));
  return std::move(inference.known);
}

std::int64_t bytes_of(const Tensor& tensor) {
  return tensor.elements() * static_cast<std::int64_t>(dtype_bytes(tensor.dtype()));
}

std::int64_t constant_elements(const Module& module) {
  std::int64_t elements = 0;
  for (const ir::RegionId region : regions_outer_first(module, module.top()))
    for (const NodeId id : module.region(region).nodes)
      if (module.node(id).op == &ir::constant_op)
        elements += constant_of(module, module.node(id).outputs[0])->elements();
  return elements;
}

/// Returns, for each value, whether products and convolutions read it, and nothing else does.
std::vector<bool> read_by_products(const Module& module) {
  std::vector<bool> products(module.value_count()), others(module.value_count());
  for (const ir::RegionId region : regions_outer_first(module, module.top())) {
    for (const NodeId id : module.region(region).nodes) {
      const Node& node = module.node(id);
      const bool is_product = node.op->batching == ir::Batching::product ||
                              node.op->batching == ir::Batching::convolution;
      for (const ValueId input : node.inputs)
        if (input.valid()) (is_product ? products : others)[input.index] = true;
    }
    for (const ValueId yield : module.region(region).yields) others[yield.index] = true;
  }
  for (std::size_t i = 0; i < others.size(); ++i)
    if (others[i]) products[i] = false;
  return products;
}

class Folder {
 public:
  Folder(Module& module, Results results) : module_(module), map_(module), results_(results) {}

  Expected<Change> run() {
    left_ = kRoundElements + kRoundFactor * constant_elements(module_);
    SCANLOOM_TRY(known_, known_sizes(module_));
    if (results_ == Results::larger) weights_ = read_by_products(module_);
    Change change;
    for (const ir::RegionId region : regions_outer_first(module_, module_.top()))
      change |= fold_region(region);
    return change;
  }

 private:
  Change fold_region(ir::RegionId region) {
    Change change;
    const std::vector<NodeId> nodes = std::move(module_.region(region).nodes);
    module_.region(region).nodes.clear();
    for (const NodeId id : nodes) {
      map_.apply(module_.node(id).inputs);
      if (auto values = fold(module_.node(id))) {
        replace(id, region, *std::move(values));
        change.changed = true;
      } else {
        module_.region(region).nodes.push_back(id);
      }
    }
    map_.apply(module_.region(region).yields);
    return change;
  }

  std::optional<std::vector<Tensor>> fold(const Node& node) {
    if (node.op == &ir::constant_op || !node.regions.empty() || node.outputs.empty())
      return std::nullopt;
    if (node.op->effects != ir::Effects::pure && node.op->effects != ir::Effects::may_fail)
      return std::nullopt;
    if (auto values = known_values(node)) return values;
    return computed(node);
  }

  [[nodiscard]] std::optional<std::vector<Tensor>> known_values(const Node& node) const {
    if (node.op->effects != ir::Effects::pure) return std::nullopt;
    std::vector<Tensor> values;
    for (const ValueId output : node.outputs) {
      const ir::Known* known = output.index < known_.size() ? known_[output.index].get() : nullptr;
      if (known == nullptr || !known->tensor) return std::nullopt;
      values.push_back(*known->tensor);
    }
    return values;
  }

  /// Errors are left to the run, which may never reach them.
  [[nodiscard]] std::optional<std::vector<Tensor>> computed(const Node& node) {
    std::vector<Tensor> inputs;
    std::int64_t elements = 0, bytes = 0, largest = 1;
    for (const ValueId input : node.inputs) {
      const Tensor* constant = input.valid() ? constant_of(module_, input) : nullptr;
      if (input.valid() && constant == nullptr) return std::nullopt;
      inputs.push_back(constant != nullptr ? *constant : Tensor());
      if (constant == nullptr) continue;
      elements += constant->elements();
      bytes += bytes_of(*constant);
      largest = std::max(largest, constant->elements());
    }
    if (node.outputs.size() == 1)
      if (auto part = stored_part(node, module_.value(node.outputs[0]).type, inputs))
        return std::vector<Tensor>{*std::move(part)};
    const bool linear = node.op->access == ir::Access::pointwise ||
                        node.op->access == ir::Access::view || node.op->linear_work;
    std::int64_t most =
        linear ? std::max(elements, kMaxElements) : std::min(kMaxElements, kMaxWork / largest);
    // Unpacking keeps the number of elements of the weights.
    const std::int64_t unpacked = std::max(2 * elements, kFreeElements);
    const bool computes = node.op->access == ir::Access::pointwise;
    if (results_ == Results::larger)
      most = std::min(most, computes ? std::max(unpacked, expanded_left_) : unpacked);
    const bool is_filled_weight = fills_weight(node);
    std::int64_t& left = is_filled_weight ? filled_left_ : left_;
    if (is_filled_weight) most = filled_left_;
    const auto may_make = [&](std::int64_t result) -> Expected<void> {
      if (results_ == Results::no_larger && result > std::max(bytes, kFreeBytes))
        return fail(Code::limit_reached, "larger than its operands");
      return {};
    };
    most = std::min(most, left);
    auto values = run_node(*node.op, inputs, node.attrs, node.outputs.size(), most, may_make);
    if (!values) return std::nullopt;
    for (const Tensor& value : *values) {
      left -= value.elements();
      if (value.elements() > unpacked) expanded_left_ -= value.elements();
    }
    return *std::move(values);
  }

  [[nodiscard]] bool fills_weight(const Node& node) const {
    return results_ == Results::larger && node.op == &ops::constant_of_shape_op &&
           weights_[node.outputs[0].index];
  }

  void replace(NodeId id, ir::RegionId region, std::vector<Tensor> values) {
    const ir::LocationId location = module_.node(id).location;
    const std::vector<ValueId> outputs = module_.node(id).outputs;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      ir::Type type = ir::Type::of(values[i].dtype(), values[i].shape());
      const NodeId constant = module_.add_node(region, ir::constant_op, {}, {std::move(values[i])},
                                               {std::move(type)}, location);
      map_.set(outputs[i], module_.node(constant).outputs[0]);
    }
  }

  Module& module_;
  ir::ValueMap map_;
  Results results_;
  std::int64_t left_ = 0;  ///< elements that may still be computed
  std::int64_t filled_left_ = kFilledElements;
  std::int64_t expanded_left_ = kExpandedElements;
  std::vector<bool> weights_;  ///< by value
  std::vector<std::shared_ptr<const ir::Known>> known_;
};

}  // namespace

Expected<Change> fold(ir::Module& module, Results results) { return Folder(module, results).run(); }

}  // namespace scanloom::passes
