// What depends on constants alone is computed now, by the reference kernels, and so is what follows
// from sizes that are known. It stands after the passes that bring constants together with those
// that read them.
#include <algorithm>

#include "ir/infer.h"
#include "ir/run_node.h"
#include "ops/ops.h"
#include "passes/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::ValueId;
using tensor::Tensor;

// Folding trades memory for time: a result may be this large, and larger than what it is made of
// only up to kFree elements. Work is bounded as well, for a model's constants can be anything.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 20;
constexpr std::int64_t kFree = 4096;
constexpr std::int64_t kMaxWork = std::int64_t{1} << 26;

/// Each element of the result is one of the inputs': the work is the size of the result.
bool moves_elements(const ir::OpDef& op) {
  return &op == &ops::concat_op || &op == &ops::gather_op || &op == &ops::pad_op ||
         &op == &ops::split_op || &op == &ops::tile_op || &op == &ops::constant_of_shape_op;
}

/// The values that inference knows all elements of, as sizes are known without data.
Expected<std::vector<std::shared_ptr<const ir::Known>>> known_sizes(const Module& module) {
  std::vector<ir::Type> arguments;
  for (const ValueId arg : module.region(module.top()).args)
    arguments.push_back(module.value(arg).type);
  tensor::DimTable dims = module.dims;
  SCANLOOM_TRY(ir::Inference inference, infer(module, arguments, dims));
  return std::move(inference.known);
}

class Folder {
 public:
  explicit Folder(Module& module) : module_(module), map_(module) {}

  Expected<Change> run() {
    SCANLOOM_TRY(known_, known_sizes(module_));
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
      for (ValueId& input : module_.node(id).inputs) input = map_[input];
      if (auto values = fold(module_.node(id))) {
        replace(id, region, *std::move(values));
        change.changed = true;
      } else {
        module_.region(region).nodes.push_back(id);
      }
    }
    for (ValueId& yield : module_.region(region).yields) yield = map_[yield];
    return change;
  }

  std::optional<std::vector<Tensor>> fold(const Node& node) const {
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

  /// A fault is left to the run, which may never come to it.
  [[nodiscard]] std::optional<std::vector<Tensor>> computed(const Node& node) const {
    std::vector<Tensor> inputs;
    std::int64_t total = 0, largest = 1;
    for (const ValueId input : node.inputs) {
      const Tensor* constant = input.valid() ? constant_of(module_, input) : nullptr;
      if (input.valid() && constant == nullptr) return std::nullopt;
      inputs.push_back(constant != nullptr ? *constant : Tensor());
      if (constant == nullptr) continue;
      total += constant->elements();
      largest = std::max(largest, constant->elements());
    }
    const bool linear = node.op->access == ir::Access::pointwise ||
                        node.op->access == ir::Access::view || moves_elements(*node.op);
    const std::int64_t by_work = linear ? kMaxElements : kMaxWork / largest;
    const std::int64_t by_size = std::max(kFree, 2 * total);
    const std::int64_t limit = std::min({kMaxElements, by_work, by_size});
    auto values = run_node(*node.op, inputs, node.attrs, node.outputs.size(), limit);
    if (!values) return std::nullopt;
    return *std::move(values);
  }

  void replace(NodeId id, ir::RegionId region, std::vector<Tensor> values) {
    const ir::PlaceId place = module_.node(id).place;
    const std::vector<ValueId> outputs = module_.node(id).outputs;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      ir::Type type = ir::Type::of(values[i].dtype(), values[i].shape());
      const NodeId constant = module_.add_node(region, ir::constant_op, {}, {std::move(values[i])},
                                               {std::move(type)}, place);
      map_.set(outputs[i], module_.node(constant).outputs[0]);
    }
  }

  Module& module_;
  ir::ValueMap map_;
  std::vector<std::shared_ptr<const ir::Known>> known_;
};

}  // namespace

Expected<Change> fold_constants(ir::Module& module) { return Folder(module).run(); }

}  // namespace scanloom::passes
