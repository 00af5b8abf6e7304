#include "plan/bind/block_plan.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "ir/op_def.h"
#include "ir/scan_window.h"
#include "ir/walk.h"
#include "kernels/pipelined_projection.h"
#include "opmath/contraction.h"
#include "opmath/reduction.h"
#include "ops/ops.h"
#include "plan/bind/parallel_steps.h"
#include "plan/bind/projection.h"

namespace scanloom::plan {
namespace {

/// Bytes of a block's values, which stay in L2 until its steps read them. The actual size is less
/// than twice this.
constexpr std::int64_t kBlockBytes = 256 * 1024;
/// Minimum rows of a product in a block, so that each read of its weights serves many rows.
constexpr std::int64_t kMinProductRows = 128;
/// Minimum steps of a block whose rows are pipelined with its steps. The rows of the first 16 steps
/// are not pipelined, so that share stays small.
constexpr std::int64_t kMinStepsPipelined = 512;
/// Bytes of a block whose last steps compute the first rows of the next one. Smaller, because L2
/// also holds the weights of the steps.
constexpr std::int64_t kBlockBytesPipelined = 128 * 1024;

/// Returns, for each operand of a contract, the axis that matches `axis` of its result, or -1;
/// nullopt if the result is not computed row by row.
std::optional<std::array<int, 2>> operand_axes(const ir::Node& node, int rank_a, int rank_b,
                                               int axis) {
  const std::string_view spec = node.attrs[0].present() ? node.attrs[0].text() : std::string_view();
  const auto einsum = tensor::parse_einsum(spec, rank_a, rank_b);
  if (!einsum || axis >= einsum->out.count) return std::nullopt;
  const std::uint8_t label = einsum->out.view()[static_cast<std::size_t>(axis)];
  for (const tensor::Subscripts* operand : {&einsum->a, &einsum->b})
    if (std::ranges::count(operand->view(), label) > 1) return std::nullopt;
  return std::array{einsum->a.find(label), einsum->b.find(label)};
}

/// Returns the axis of a reduce's operand that matches `axis` of its result; -1 if none does.
int reduced_axis(const ir::Node& node, int rank, int axis) {
  const tensor::Attr& axes = node.attrs[tensor::kReduceAxes];
  const bool keeps = node.attrs[tensor::kReduceKeepdims].integer() != 0;
  for (int from = 0, to = 0; from < rank; ++from) {
    const bool is_reduced = tensor::is_reduced(axes, from, rank);
    if (to == axis && !is_reduced) return from;
    if (!is_reduced || keeps) ++to;
  }
  return -1;
}

/// The operands of a node that computes its result row by row.
struct Operands {
  std::vector<RowsOf> rows;
  std::vector<ir::ValueId> whole;  ///< the same for all rows
};

class Finder {
 public:
  Finder(const ir::Module& module, const ir::Inference& inference,
         const std::vector<std::uint32_t>& uses)
      : module_(module), inference_(inference), uses_(uses) {
    const std::vector<ir::NodeId>& nodes = module_.region(module_.top()).nodes;
    position_.resize(module_.node_count());
    for (std::size_t i = 0; i < nodes.size(); ++i) position_[nodes[i].index] = i;
  }

  /// Returns the plan of the loop; without ports if nothing is bound with it.
  [[nodiscard]] BlockPlan plan_of(ir::NodeId loop) const {
    const ir::Node& node = module_.node(loop);
    BlockPlan plan;
    std::int64_t bytes = 0, least = 1;
    bool makes_next = false;  // the steps of a block make rows of the next one
    for (std::size_t i = 0; i < node.loop->scanned.size(); ++i) {
      std::optional<RowMakers> makers = row_makers(loop, i);
      const std::int64_t rows =
          makers ? type(makers->made[0].value).shape()[makers->made[0].axis] : 0;
      if (!makers || (!plan.ports.empty() && plan.rows != rows)) {
        if (auto projection = makers_of_projection(loop, i))
          plan.whole.push_back(*std::move(projection));
        continue;
      }
      plan.rows = rows;
      bytes = saturating_sum(bytes, makers->row_bytes);
      const bool pipelined = is_pipelining_likely(loop, *makers);
      if (pipelined && !makes_next && can_make_next(*makers)) {
        makes_next = true;
      } else {
        least = std::max(least, makers->min_steps);
        if (pipelined) least = std::max(least, kMinStepsPipelined);
      }
      plan.ports.push_back(*std::move(makers));
    }
    if (plan.ports.empty()) return plan;
    if (makes_next) {
      plan.steps = kernels::steps_of_pipelined_blocks(
          plan.rows, std::max(least, kBlockBytesPipelined / bytes));
      return plan;
    }
    const std::int64_t usual = std::max(least, kBlockBytes / bytes);
    const std::int64_t count = std::max<std::int64_t>(plan.rows / usual, 1);
    plan.steps = (plan.rows + count - 1) / count;
    return plan;
  }

 private:
  /// Values whose rows are read, and how often, by position of their producer, last first.
  struct Wanted {
    RowsOf rows;
    std::uint32_t readers = 1;
  };
  using WantedByPosition = std::map<std::pair<std::size_t, std::uint32_t>, Wanted, std::greater<>>;

  [[nodiscard]] const tensor::Type& type(ir::ValueId id) const {
    return inference_.types[id.index];
  }
  [[nodiscard]] bool is_static(ir::ValueId id) const { return type(id).is_static(); }
  [[nodiscard]] bool is_object(ir::ValueId id) const {
    return !type(id).is_tensor() || type(id).dtype == DType::string;
  }

  /// Returns the operands of a node whose result has rows on `axis`; nullopt if the node does not
  /// compute it row by row.
  [[nodiscard]] std::optional<Operands> operands_of(ir::NodeId id, int axis,
                                                    std::int64_t rows) const {
    const ir::Node& node = module_.node(id);
    Operands found;
    const auto add = [&](std::size_t input, int at) {
      const ir::ValueId value = node.inputs[input];
      if (at >= 0 && type(value).shape()[at] == rows)
        found.rows.push_back({value, at});
      else
        found.whole.push_back(value);
    };
    for (const ir::ValueId input : node.inputs)
      if (input.valid() && (is_object(input) || !is_static(input))) return std::nullopt;
    if (node.op == &ops::contract_op) {
      const auto axes =
          operand_axes(node, type(node.inputs[0]).rank(), type(node.inputs[1]).rank(), axis);
      if (!axes) return std::nullopt;
      for (std::size_t i = 0; i < 2; ++i) add(i, (*axes)[i]);
    } else if (node.op->scalar != nullptr) {
      const int rank = type(node.outputs[0]).rank();
      for (std::size_t i = 0; i < node.inputs.size(); ++i)
        if (node.inputs[i].valid()) add(i, axis - rank + type(node.inputs[i]).rank());
    } else if (node.op == &ops::reduce_op && node.attrs[tensor::kReduceAxes].present()) {
      add(0, reduced_axis(node, type(node.inputs[0]).rank(), axis));
    } else if (node.op->keeps_order && axis == 0 && type(node.inputs[0]).rank() > 0) {
      add(0, 0);
    }
    if (found.rows.empty()) return std::nullopt;
    return found;
  }

  /// Whether the value has no readers except these readers of its rows.
  [[nodiscard]] bool is_made_for(ir::ValueId value, std::uint32_t readers) const {
    const ir::NodeId producer = module_.value(value).producer;
    if (!producer.valid() || uses_[value.index] != readers || inference_.is_constant(value))
      return false;
    const ir::Node& node = module_.node(producer);
    return node.parent == module_.top() && node.outputs.size() == 1 &&
           node.op->effects == ir::Effects::pure && is_static(value) && !is_object(value);
  }

  /// Counts a reader. Returns false if the value is already read along another axis.
  [[nodiscard]] bool count_reader(const RowsOf& rows, WantedByPosition& wanted) const {
    const ir::NodeId producer = module_.value(rows.value).producer;
    const bool is_here = producer.valid() && module_.node(producer).parent == module_.top();
    const std::size_t position = is_here ? position_[producer.index] + 1 : 0;
    const auto [at, is_new] = wanted.try_emplace({position, rows.value.index}, Wanted{rows});
    if (!is_new) ++at->second.readers;
    return at->second.rows.axis == rows.axis;
  }

  [[nodiscard]] std::optional<RowMakers> row_makers(ir::NodeId loop, std::size_t port) const {
    const ir::Node& node = module_.node(loop);
    const ir::ScannedPort& slices = node.loop->scanned[port];
    const ir::ValueId scanned = node.inputs[node.loop->first_scanned_input() + port];
    const int axis = static_cast<int>(slices.axis);
    if (!is_made_for(scanned, 1) || axis >= type(scanned).rank()) return std::nullopt;
    const std::int64_t rows = type(scanned).shape()[axis];
    const bool all = slices.part == 1 && (slices.stride == 1 || slices.stride == -1) &&
                     ir::scan_window(slices, rows).count == rows;
    if (!all || rows < 1) return std::nullopt;
    RowMakers makers{.port = port, .backwards = slices.stride < 0};
    WantedByPosition wanted;
    std::vector<ir::ValueId> whole;
    bool agree = count_reader({scanned, axis}, wanted);
    // Readers are seen before what they read, so all of a value's are counted when it is taken.
    while (!wanted.empty()) {
      const Wanted next = wanted.begin()->second;
      wanted.erase(wanted.begin());
      const ir::NodeId producer = module_.value(next.rows.value).producer;
      const auto operands = is_made_for(next.rows.value, next.readers)
                                ? operands_of(producer, next.rows.axis, rows)
                                : std::nullopt;
      if (!operands) {
        makers.read.push_back(next.rows);
        continue;
      }
      makers.made.push_back(next.rows);
      makers.nodes.push_back(producer);
      add_size(next.rows, makers);
      for (const RowsOf& operand : operands->rows) agree = count_reader(operand, wanted) && agree;
      whole.insert(whole.end(), operands->whole.begin(), operands->whole.end());
    }
    const bool in_both_ways = std::ranges::any_of(makers.read, [&](const RowsOf& read) {
      return std::ranges::find(whole, read.value) != whole.end();
    });
    // row_bytes is 0 for views alone and for empty rows.
    if (!agree || in_both_ways || makers.row_bytes == 0) return std::nullopt;
    std::ranges::reverse(makers.nodes);
    return makers;
  }

  /// Returns the nodes of a projection that steps are likely to compute.
  [[nodiscard]] std::optional<RowMakers> makers_of_projection(ir::NodeId loop,
                                                              std::size_t port) const {
    const ir::Node& node = module_.node(loop);
    const ir::ValueId scanned = node.inputs[node.loop->first_scanned_input() + port];
    if (node.loop->scanned[port].part != 1 || !is_made_for(scanned, 1)) return std::nullopt;
    const auto projection = projection_of(module_, inference_, scanned);
    if (!projection || !is_made_for(projection->rows, 1)) return std::nullopt;
    RowMakers makers{.port = port, .nodes = {projection->product}};
    if (projection->sum.valid()) makers.nodes.push_back(projection->sum);
    return is_pipelining_likely(loop, makers) ? std::optional(std::move(makers)) : std::nullopt;
  }

  void add_size(const RowsOf& made, RowMakers& makers) const {
    const ir::OpDef* const op = module_.node(module_.value(made.value).producer).op;
    if (op->view != nullptr) return;
    const tensor::Shape dims = type(made.value).shape();
    const std::int64_t elements = dims.elements() / dims[made.axis];
    makers.row_bytes += elements * static_cast<std::int64_t>(dtype_bytes(type(made.value).dtype));
    if (op != &ops::contract_op || elements == 0) return;
    const std::int64_t last = made.axis == dims.rank() - 1 ? 1 : dims[dims.rank() - 1];
    const std::int64_t products = elements / last;  // rows of a matrix that one step has
    makers.min_steps = std::max(makers.min_steps, (kMinProductRows + products - 1) / products);
  }

  /// Whether steps are likely to compute the rows, except those of a block's first steps, pipelined
  /// with their own products (pipelined_projection.h).
  [[nodiscard]] bool is_pipelining_likely(ir::NodeId loop, const RowMakers& makers) const {
    const auto is_product = [&](ir::NodeId id) {
      return module_.node(id).op == &ops::contract_op && is_static(module_.node(id).outputs[0]);
    };
    if (std::ranges::none_of(makers.nodes, is_product)) return false;
    const auto elements = [&](ir::ValueId id) {
      return is_static(id) ? type(id).shape().elements() : 0;
    };
    const ir::Region& body = module_.region(module_.node(loop).regions[0]);
    return std::ranges::any_of(body.nodes, [&](ir::NodeId id) {
      const ir::Node& node = module_.node(id);
      return is_product(id) &&
             kernels::can_be_pipelined(elements(node.inputs[0]), elements(node.inputs[1]),
                                       elements(node.outputs[0]));
    });
  }

  /// Whether the steps of a block can also compute the first rows of the next one: a product by
  /// constants, optionally plus a constant bias, of rows that exist before the loop.
  [[nodiscard]] bool can_make_next(const RowMakers& makers) const {
    const auto projection = projection_of(module_, inference_, makers.made[0].value);
    if (!projection) return false;
    if (projection->sum.valid() && !inference_.is_constant(projection->bias)) return false;
    const std::vector<ir::ValueId>& factors = module_.node(projection->product).inputs;
    const std::size_t at = inference_.is_constant(factors[1]) ? 0 : 1;
    if (!inference_.is_constant(factors[1 - at])) return false;
    ir::ValueId rows = factors[at];
    while (std::ranges::find(makers.read, rows, &RowsOf::value) == makers.read.end()) {
      const ir::NodeId view = module_.value(rows).producer;
      if (!view.valid() || !module_.node(view).op->keeps_order) return false;
      rows = module_.node(view).inputs[0];
    }
    return true;
  }

  const ir::Module& module_;
  const ir::Inference& inference_;
  const std::vector<std::uint32_t>& uses_;
  std::vector<std::size_t> position_;  ///< of the nodes of the top region, in their order
};

}  // namespace

std::vector<std::uint32_t> uses_of_elements(const ir::Module& module,
                                            const ir::Inference& inference) {
  std::vector<std::uint32_t> uses = ir::count_uses(module);
  for (const ir::NodeId id : module.region(module.top()).nodes) {
    const ir::Node& node = module.node(id);
    const bool asks_for_size = node.op == &ops::dim_op || node.op == &ops::shape_op;
    if (asks_for_size && inference.is_constant(node.outputs[0])) --uses[node.inputs[0].index];
  }
  return uses;
}

std::map<std::uint32_t, BlockPlan> find_blocks(const ir::Module& module,
                                               const ir::Inference& inference,
                                               const std::vector<std::uint32_t>& uses) {
  std::map<std::uint32_t, BlockPlan> plans;
  const Finder finder(module, inference, uses);
  for (const ir::NodeId id : module.region(module.top()).nodes) {
    const ir::Node& node = module.node(id);
    if (node.op != &ir::loop_op || node.loop->scanned.empty() ||
        parallel_steps(module, id, inference, uses))
      continue;
    BlockPlan plan = finder.plan_of(id);
    if (!plan.is_empty()) plans.emplace(id.index, std::move(plan));
  }
  return plans;
}

}  // namespace scanloom::plan
