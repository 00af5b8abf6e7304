#include "api/split_updates.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "ir/infer.h"
#include "ir/op_def.h"
#include "ir/walk.h"
#include "ops/ops.h"
#include "passes/rewrite/ports.h"
#include "tensor/tensor.h"

namespace scanloom {
namespace {

using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

/// Branches around a write that are followed; more are left whole.
constexpr int kMaxBranches = 16;

/// Elements of a stand-in for a value of known sizes.
constexpr std::int64_t kMaxStandIn = 64;

/// The part of a value's way to its next value that is in one region: writes and branches.
struct UpdateChain {
  /// A node that writes to a part, or a branch whose regions do.
  struct Link {
    NodeId node;
    std::vector<UpdateChain> regions = {};  ///< of a branch: its two
    std::size_t result = 0;                 ///< of a branch: the one that is the next value
  };
  ValueId base;               ///< the argument that everything is written to
  std::vector<Link> links;    ///< in the order of writing
  std::vector<NodeId> nodes;  ///< to be removed: all except branches

  [[nodiscard]] bool writes() const {
    return std::ranges::any_of(links, [](const Link& link) {
      return link.regions.empty() || std::ranges::any_of(link.regions, &UpdateChain::writes);
    });
  }
};

bool has_type_of(const Module& module, ValueId value, ValueId other) {
  return module.value(value).type == module.value(other).type;
}

/// Whether the node passes on the elements of its operand unchanged, in the same order.
bool keeps_elements(const Node& node) {
  return node.op == &ops::reshape_op || node.op == &ops::flatten_op || node.op == &ops::identity_op;
}

/// Finds the chains of updates.
class ChainFinder {
 public:
  ChainFinder(const Module& module, const std::vector<std::uint32_t>& uses)
      : module_(module), uses_(uses) {}

  /// nullopt: the next value is computed in another way, or an intermediate value is also read
  /// elsewhere.
  [[nodiscard]] std::optional<UpdateChain> find(ValueId argument, ValueId next) const {
    if (!has_type_of(module_, next, argument) || module_.value(next).type.dtype == DType::string)
      return std::nullopt;
    auto chain = chain_to(next, 0);
    if (!chain || chain->base != argument || !chain->writes() || !reads_old_value(*chain, false))
      return std::nullopt;
    return chain;
  }

 private:
  /// Follows a value back to an argument of its region.
  [[nodiscard]] std::optional<UpdateChain> chain_to(ValueId next, int depth) const {
    UpdateChain chain;
    std::vector<NodeId> passed;
    bool is_read_alone = true;
    ValueId at = next;
    while (module_.value(at).producer.valid()) {
      const NodeId id = module_.value(at).producer;
      const Node& node = module_.node(id);
      is_read_alone &= uses_[at.index] == 1;
      if (node.op == &ir::branch_op) {
        auto link =
            is_read_alone && depth < kMaxBranches ? branch_link(id, at, depth) : std::nullopt;
        if (!link) return std::nullopt;
        at = node.inputs[1 + module_.value(link->regions[0].base).index];
        chain.links.push_back(*std::move(link));
        chain.nodes = passed;
        continue;
      }
      passed.push_back(id);
      if (node.op->writes_part) {
        if (!is_read_alone) return std::nullopt;
        chain.links.push_back({.node = id});
        chain.nodes = passed;
      } else if (!keeps_elements(node)) {
        return std::nullopt;
      }
      at = node.inputs[0];
    }
    std::ranges::reverse(chain.links);
    chain.base = at;
    return fits(chain, next) ? std::optional(std::move(chain)) : std::nullopt;
  }

  [[nodiscard]] std::optional<UpdateChain::Link> branch_link(NodeId id, ValueId result,
                                                             int depth) const {
    const Node& branch = module_.node(id);
    UpdateChain::Link link{.node = id, .result = module_.value(result).index};
    for (const ir::RegionId region : branch.regions) {
      auto chain = chain_to(module_.region(region).yields[link.result], depth + 1);
      if (!chain || module_.value(chain->base).region != region) return std::nullopt;
      link.regions.push_back(*std::move(chain));
    }
    const auto captured = [&](const UpdateChain& chain) {
      return branch.inputs[1 + module_.value(chain.base).index];
    };
    if (captured(link.regions[0]) != captured(link.regions[1])) return std::nullopt;
    return link;
  }

  /// Whether writes are to the value itself or to its elements as one flat row, and a branch's
  /// result is the value.
  [[nodiscard]] bool fits(const UpdateChain& chain, ValueId next) const {
    if (!has_type_of(module_, next, chain.base)) return false;
    return std::ranges::all_of(chain.links, [&](const UpdateChain::Link& link) {
      const Node& node = module_.node(link.node);
      if (!link.regions.empty()) return has_type_of(module_, node.outputs[link.result], chain.base);
      return has_type_of(module_, node.inputs[0], chain.base) ||
             module_.value(node.inputs[0]).type.rank() == 1;
    });
  }

  /// Whether regions of branches read nothing that has been written to before.
  [[nodiscard]] bool reads_old_value(const UpdateChain& chain, bool written) const {
    for (const UpdateChain::Link& link : chain.links) {
      for (const UpdateChain& region : link.regions)
        if ((written && uses_[region.base.index] != 1) || !reads_old_value(region, written))
          return false;
      written = true;
    }
    return true;
  }

  const Module& module_;
  const std::vector<std::uint32_t>& uses_;
};

/// Returns what a region that does not run gives in place of a value: zeros of the same sizes, if
/// these are known and small, so that the type stays as it is; otherwise nothing along each axis.
Expected<tensor::Tensor> stand_in(const tensor::Type& type) {
  const bool is_small = type.is_static() && type.shape().elements() <= kMaxStandIn;
  tensor::Shape shape = tensor::Shape::filled(type.rank(), 0);
  if (is_small) shape = type.shape();
  return tensor::Tensor::zeros(type.dtype, shape);
}

class Splitter {
 public:
  Splitter(Module module, const UpdateSites& sites)
      : split_{std::move(module), {}}, sites_(sites), uses_(ir::count_uses(split_.module)) {}

  Expected<SplitUpdates> split() {
    Module& module = split_.module;
    const std::vector<ValueId> before = module.region(module.top()).yields;
    const std::vector<std::string> names = module.output_names;
    const auto own = static_cast<std::ptrdiff_t>(sites_.first);
    yields_.assign(before.begin(), before.begin() + own);
    names_.assign(names.begin(), names.begin() + own);
    for (std::size_t i = 0; i < sites_.arguments.size(); ++i) {
      SCANLOOM_TRY(SharedUpdate update, update_of(before[sites_.first + i], sites_.arguments[i],
                                                  names[sites_.first + i]));
      split_.updates.push_back(std::move(update));
    }
    if (gone_.empty() && replaced_.empty()) return std::move(split_);
    module.region(module.top()).yields = std::move(yields_);
    module.output_names = std::move(names_);
    module.declared_outputs.clear();
    remove();
    SCANLOOM_CHECK_OK(ir::infer_types(module, ir::Declared::ignore));
    return std::move(split_);
  }

 private:
  /// A region of a branch.
  struct Enclosing {
    NodeId branch;
    std::size_t region;
  };
  /// Where links are, and how their results are called.
  struct LinkContext {
    ValueId argument;
    const std::string& name;
    std::vector<Enclosing> around = {};  ///< outermost first
    std::vector<WriteCondition> conditions = {};
  };

  Expected<SharedUpdate> update_of(ValueId next, std::optional<std::size_t> argument,
                                   const std::string& name) {
    const Module& module = split_.module;
    const ValueId now = argument ? module.region(module.top()).args[*argument] : ValueId();
    const ChainFinder finder(module, uses_);
    const auto chain = argument ? finder.find(now, next) : std::nullopt;
    SharedUpdate update;
    if (!chain) {
      update.whole = add(next, name);
      return update;
    }
    SCANLOOM_CHECK_OK(add_writes(*chain, {.argument = now, .name = name}, update));
    return update;
  }

  Expected<void> add_writes(const UpdateChain& chain, const LinkContext& context,
                            SharedUpdate& update) {
    gone_.insert(chain.nodes.begin(), chain.nodes.end());
    for (const UpdateChain::Link& link : chain.links) {
      if (link.regions.empty()) {
        SCANLOOM_CHECK_OK(add_write(link.node, context, update));
        continue;
      }
      replaced_[link.node].push_back(link.result);
      SCANLOOM_TRY(const ValueId condition,
                   outside(split_.module.node(link.node).inputs[0], context.around));
      const std::size_t result = add(condition, context.name);
      for (std::size_t i = 0; i < link.regions.size(); ++i) {
        LinkContext inner = context;
        inner.around.push_back({link.node, i});
        inner.conditions.push_back({result, i == 0});
        SCANLOOM_CHECK_OK(add_writes(link.regions[i], inner, update));
      }
      // What the branch was given is no longer computed, and its regions do not read it.
      split_.module.node(link.node).inputs[1 + split_.module.value(link.regions[0].base).index] =
          base_of(context, chain);
    }
    return {};
  }

  /// The unwritten value in the region of a chain.
  static ValueId base_of(const LinkContext& context, const UpdateChain& chain) {
    return context.around.empty() ? context.argument : chain.base;
  }

  Expected<void> add_write(NodeId id, const LinkContext& context, SharedUpdate& update) {
    const Module& module = split_.module;
    PartWrite write{.op = module.node(id).op,
                    .attrs = module.node(id).attrs,
                    .node = module.describe(id),
                    .operands = {},
                    .is_flat = !has_type_of(module, module.node(id).inputs[0], context.argument),
                    .conditions = context.conditions};
    const std::vector<ValueId> inputs = module.node(id).inputs;
    for (std::size_t k = 1; k < inputs.size(); ++k) {
      write.operands.emplace_back();
      if (!inputs[k].valid()) continue;
      SCANLOOM_TRY(const ValueId operand, outside(inputs[k], context.around));
      write.operands.back() = add(operand, context.name);
    }
    update.writes.push_back(std::move(write));
    return {};
  }

  /// Makes a value of nested regions a result of the branches around it, unless they capture it.
  Expected<ValueId> outside(ValueId value, std::span<const Enclosing> around) {
    Module& module = split_.module;
    for (std::size_t i = around.size(); i-- > 0;) {
      const NodeId branch = around[i].branch;
      const std::vector<ir::RegionId>& regions = module.node(branch).regions;
      const ir::RegionId region = regions[around[i].region];
      if (!module.value(value).producer.valid()) {
        value = module.node(branch).inputs[1 + module.value(value).index];
        continue;
      }
      if (const auto known = results_.find(value); known != results_.end()) {
        value = known->second;
        continue;
      }
      const ir::RegionId other = regions[1 - around[i].region];
      const tensor::Type type = module.value(value).type;
      SCANLOOM_TRY(tensor::Tensor empty, stand_in(type));
      const tensor::Type other_type = tensor::Type::of(empty.dtype(), empty.shape());
      const NodeId made =
          module.add_node(other, ir::constant_op, {}, {std::move(empty)}, {other_type});
      module.region(region).yields.push_back(value);
      module.region(other).yields.push_back(module.node(made).outputs[0]);
      const ValueId result = module.add_output(branch, ir::join(type, other_type, module.dims));
      results_[value] = result;
      value = result;
    }
    return value;
  }

  std::size_t add(ValueId value, const std::string& name) {
    yields_.push_back(value);
    names_.push_back(name);
    return yields_.size() - 1;
  }

  /// Removes the writes, the results of branches that were next values, and branches without any
  /// other result.
  void remove() {
    Module& module = split_.module;
    for (const auto& [branch, results] : replaced_) {
      std::vector<bool> kept(module.node(branch).outputs.size(), true);
      for (const std::size_t result : results) kept[result] = false;
      if (std::ranges::find(kept, true) == kept.end()) gone_.insert(branch);
      passes::keep_branch_ports(
          module, branch, std::vector<bool>(module.node(branch).inputs.size() - 1, true), kept);
    }
    for (const NodeId id : gone_) {
      std::vector<NodeId>& nodes = module.region(module.node(id).parent).nodes;
      std::erase(nodes, id);
    }
  }

  SplitUpdates split_;
  const UpdateSites& sites_;
  const std::vector<std::uint32_t> uses_;
  std::vector<ValueId> yields_;     ///< the module's new yields
  std::vector<std::string> names_;  ///< of these
  std::set<NodeId> gone_;
  std::map<NodeId, std::vector<std::size_t>> replaced_;  ///< by branch: results
  std::map<ValueId, ValueId> results_;                   ///< by value of a region: of its branch
};

}  // namespace

Expected<SplitUpdates> split_updates(Module module, const UpdateSites& sites) {
  return Splitter(std::move(module), sites).split();
}

}  // namespace scanloom
