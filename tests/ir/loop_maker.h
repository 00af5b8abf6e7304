// Makes loops and branches for tests of inference.
#pragma once

#include <utility>
#include <vector>

#include "ir/builder.h"
#include "ir/infer.h"

namespace scanloom::ir::local {

/// A loop whose body is written in place: constructor, then arguments() and body(), then close().
class LoopMaker {
 public:
  LoopMaker(Module& module, RegionId parent, LoopPorts ports, std::vector<ValueId> inputs)
      : module_(module),
        node_(module.add_node(parent, loop_op, std::move(inputs), {}, {})),
        body_(module.add_region(node_)) {
    for (std::uint32_t i = 0; i < ports.argument_count(); ++i)
      module.add_argument(body_, Type::unranked(DType::f32));
    for (std::uint32_t i = 0; i < ports.output_count(); ++i)
      module.add_output(node_, Type::unranked(DType::f32));
    module.node(node_).loop = std::move(ports);
    module.node(node_).regions = {body_};
  }
  [[nodiscard]] RegionId body() const { return body_; }
  [[nodiscard]] NodeId node() const { return node_; }
  [[nodiscard]] ValueId arg(std::size_t i) const { return module_.region(body_).args[i]; }
  [[nodiscard]] ValueId out(std::size_t i) const { return module_.node(node_).outputs[i]; }
  void close(std::vector<ValueId> yields) { module_.region(body_).yields = std::move(yields); }

  /// A node of the body with one result, whose type is left to inference.
  ValueId op(const OpDef& op, std::vector<ValueId> inputs) {
    return append(module_, body_, op, std::move(inputs));
  }
  static ValueId append(Module& module, RegionId region, const OpDef& op,
                        std::vector<ValueId> inputs) {
    const NodeId id =
        module.add_node(region, op, std::move(inputs), std::vector<Attr>(op.attrs.size()),
                        {Type::unranked(DType::f32)});
    return module.node(id).outputs[0];
  }
  ValueId constant(Tensor value) { return Builder(module_, body_).constant(std::move(value)); }

 private:
  Module& module_;
  NodeId node_;
  RegionId body_;
};

/// A branch with two sides over `captured`.
class BranchMaker {
 public:
  BranchMaker(Module& module, RegionId parent, ValueId condition, std::vector<ValueId> captured,
              std::size_t results)
      : module_(module) {
    std::vector<ValueId> inputs{condition};
    inputs.insert(inputs.end(), captured.begin(), captured.end());
    node_ = module.add_node(parent, branch_op, std::move(inputs), {},
                            std::vector<Type>(results, Type::unranked(DType::f32)));
    for (int side = 0; side < 2; ++side) {
      const RegionId region = module.add_region(node_);
      module.node(node_).regions.push_back(region);
      for (const ValueId value : captured)
        module.add_argument(region, Type::unranked(module.value(value).type.dtype));
    }
  }
  [[nodiscard]] NodeId node() const { return node_; }
  [[nodiscard]] RegionId side(std::size_t i) const { return module_.node(node_).regions[i]; }
  [[nodiscard]] ValueId arg(std::size_t region_index, std::size_t i) const {
    return module_.region(side(region_index)).args[i];
  }
  [[nodiscard]] ValueId out(std::size_t i) const { return module_.node(node_).outputs[i]; }
  ValueId op(std::size_t region_index, const OpDef& op, std::vector<ValueId> inputs) {
    return LoopMaker::append(module_, side(region_index), op, std::move(inputs));
  }
  void close(std::size_t region_index, std::vector<ValueId> yields) {
    module_.region(side(region_index)).yields = std::move(yields);
  }

 private:
  Module& module_;
  NodeId node_;
};

}  // namespace scanloom::ir::local
