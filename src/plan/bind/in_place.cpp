#include "plan/bind/in_place.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>

#include "plan/bind/bound_view.h"

namespace scanloom::plan {
namespace {

using ir::Node;
using ir::NodeId;
using ir::ValueId;

/// Maximum attempts to find an order, one for each state whose readers must move.
constexpr int kMaxOrders = 64;

/// The body's nodes by position in the region, and the constraints on their order.
class Order {
 public:
  Order(const ir::Module& module, const ir::Region& body, const ir::Inference& inference)
      : nodes_(body.nodes), after_(nodes_.size()) {
    std::unordered_map<std::uint32_t, std::size_t> made_at;  // by value
    std::optional<std::size_t> last;                         // whose place among its like matters
    for (std::size_t at = 0; at < nodes_.size(); ++at) {
      const Node& node = module.node(nodes_[at]);
      position_.emplace(nodes_[at].index, at);
      for (const ValueId input : node.inputs)
        if (const auto made = made_at.find(input.index); input.valid() && made != made_at.end())
          after_[made->second].push_back(at);
      for (const ValueId output : node.outputs) made_at.emplace(output.index, at);
      if (!keeps_memory(node, inference)) continue;
      if (last) after_[*last].push_back(at);
      last = at;
    }
  }

  [[nodiscard]] std::size_t position_of(NodeId id) const { return position_.at(id.index); }

  /// Adds the constraint that the first node of each pair comes before the second. Returns false,
  /// and adds nothing, if no order satisfies it.
  bool add(const std::vector<std::pair<std::size_t, std::size_t>>& pairs) {
    for (const auto& [first, second] : pairs) after_[first].push_back(second);
    const bool moves =
        std::ranges::any_of(pairs, [](const auto& pair) { return pair.first > pair.second; });
    if (!moves && !moved_) return true;
    if (++tried_ <= kMaxOrders && sorted()) {
      moved_ = true;
      return true;
    }
    for (const auto& [first, second] : pairs) after_[first].pop_back();
    return false;
  }

  /// Returns all nodes, as close as possible to the order of the region.
  [[nodiscard]] std::vector<NodeId> nodes() const { return moved_ ? *sorted() : nodes_; }

 private:
  /// Whether the node must keep its order among such nodes. Objects are moved to their last reader
  /// in the order of the region.
  static bool keeps_memory(const Node& node, const ir::Inference& inference) {
    const auto is_object = [&](ValueId id) {
      if (!id.valid()) return false;
      const tensor::Type& type = inference.types[id.index];
      return !type.is_tensor() || type.dtype == DType::string;
    };
    return node.op->effects == ir::Effects::random || node.op->effects == ir::Effects::state ||
           std::ranges::any_of(node.inputs, is_object) ||
           std::ranges::any_of(node.outputs, is_object);
  }

  [[nodiscard]] std::optional<std::vector<NodeId>> sorted() const {
    std::vector<std::size_t> waits_for(nodes_.size(), 0);
    for (const auto& later : after_)
      for (const std::size_t at : later) ++waits_for[at];
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> free;
    for (std::size_t at = 0; at < nodes_.size(); ++at)
      if (waits_for[at] == 0) free.push(at);
    std::vector<NodeId> order;
    while (!free.empty()) {
      const std::size_t at = free.top();
      free.pop();
      order.push_back(nodes_[at]);
      for (const std::size_t next : after_[at])
        if (--waits_for[next] == 0) free.push(next);
    }
    if (order.size() != nodes_.size()) return std::nullopt;
    return order;
  }

  const std::vector<NodeId>& nodes_;
  std::vector<std::vector<std::size_t>> after_;
  std::unordered_map<std::uint32_t, std::size_t> position_;
  bool moved_ = false;
  int tried_ = 0;
};

class InPlaceFinder {
 public:
  InPlaceFinder(const ir::Module& module, NodeId loop, const ir::Inference& inference)
      : module_(module),
        node_(module.node(loop)),
        body_(module.region(node_.regions[0])),
        inference_(inference) {}

  std::optional<InPlaceStates> find() {
    InPlaceStates found;
    found.values.resize(node_.loop->carried);
    std::optional<Order> order;
    bool any = false;
    for (std::uint32_t i = 0; i < node_.loop->carried; ++i) {
      const std::vector<NodeId> chain = chain_of(i);
      if (chain.empty()) continue;
      if (!order) order.emplace(module_, body_, inference_);
      if (!can_write_over(i, chain, *order)) continue;
      for (const NodeId id : chain)
        if (module_.node(id).op->writes_part)
          found.values[i].push_back(module_.node(id).outputs[0]);
      any = true;
    }
    if (!any) return std::nullopt;
    found.order = order->nodes();
    return found;
  }

 private:
  [[nodiscard]] const tensor::Type& type(ValueId id) const { return inference_.types[id.index]; }
  [[nodiscard]] ValueId argument_of(std::uint32_t i) const {
    return body_.args[node_.loop->captured + i];
  }
  [[nodiscard]] std::size_t yield_of(std::uint32_t i) const {
    return node_.loop->first_carried_yield() + i;
  }

  /// Returns the scatters and views, in order, that turn the state into its next value; empty if
  /// another node produces it, or none does.
  [[nodiscard]] std::vector<NodeId> chain_of(std::uint32_t i) const {
    const ValueId argument = argument_of(i);
    const tensor::Type& own = type(argument);
    if (!own.is_tensor() || !own.is_static() || own.dtype == DType::string) return {};
    std::vector<NodeId> chain;
    bool writes = false;
    for (ValueId at = body_.yields[yield_of(i)]; at != argument;) {
      const NodeId id = module_.value(at).producer;
      if (!id.valid() || module_.node(id).parent != node_.regions[0]) return {};
      const Node& node = module_.node(id);
      const bool part = node.op->writes_part;
      if ((!part && node.op->view == nullptr) || !type(at).is_tensor() || !type(at).is_static() ||
          inference_.makes_constants(node))
        return {};
      writes |= part;
      chain.push_back(id);
      at = node.inputs[0];
    }
    std::ranges::reverse(chain);
    if (!writes || !ends_where_it_began(own.shape(), chain)) return {};
    return chain;
  }

  /// Whether the views of the chain together leave every element at its position.
  [[nodiscard]] bool ends_where_it_began(const tensor::Shape& dims,
                                         const std::vector<NodeId>& chain) const {
    const tensor::Shape strides = tensor::contiguous_strides(dims);
    ir::ViewOf at{.offset = 0, .dims = dims, .strides = strides};
    for (const NodeId id : chain) {
      const Node& node = module_.node(id);
      if (node.op->writes_part) continue;
      const auto view = bound_view(node, inference_, at.dims, at.strides);
      if (!view) return false;
      at = {.offset = at.offset + view->offset, .dims = view->dims, .strides = view->strides};
    }
    if (at.offset != 0 || !(at.dims == dims)) return false;
    for (int axis = 0; axis < dims.rank(); ++axis)
      if (dims[axis] > 1 && at.strides[axis] != strides[axis]) return false;
    return true;
  }

  /// Whether the results certainly do not alias the operands. Views alias them, and results of
  /// loops, branches and sequences may.
  [[nodiscard]] bool copies(const Node& node) const {
    return node.op->view == nullptr && node.op->reference != nullptr &&
           std::ranges::all_of(node.outputs, [&](ValueId output) {
             return type(output).is_tensor() && type(output).dtype != DType::string;
           });
  }

  /// Whether the chain may overwrite the state. Adds to the order that readers of a value come
  /// before the scatter that overwrites it.
  [[nodiscard]] bool can_write_over(std::uint32_t i, const std::vector<NodeId>& chain,
                                    Order& order) const {
    std::vector<NodeId> writers;
    for (const NodeId id : chain)
      if (module_.node(id).op->writes_part) writers.push_back(id);
    // By value that may alias the state: the number of writers before it.
    std::unordered_map<std::uint32_t, std::size_t> seen{{argument_of(i).index, 0}};
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
    for (const NodeId id : body_.nodes) {
      const Node& node = module_.node(id);
      if (inference_.makes_constants(node)) continue;
      const auto writer = std::ranges::find(writers, id);
      std::optional<std::size_t> earliest;
      for (const ValueId input : node.inputs) {
        const auto found = input.valid() ? seen.find(input.index) : seen.end();
        if (found == seen.end()) continue;
        earliest = std::min(earliest.value_or(found->second), found->second);
      }
      if (!earliest) continue;
      if (writer == writers.end()) {
        if (*earliest < writers.size())
          pairs.emplace_back(order.position_of(id), order.position_of(writers[*earliest]));
        if (!copies(node))
          for (const ValueId output : node.outputs) seen.emplace(output.index, *earliest);
        continue;
      }
      // A writer reads the value that it overwrites; older ones are gone by then.
      const auto own = static_cast<std::size_t>(writer - writers.begin());
      if (*earliest < own) return false;
      seen.emplace(node.outputs[0].index, own + 1);
    }
    return yields_fit(i, writers.size(), seen) && order.add(pairs);
  }

  /// Whether no other yield of the body is an overwritten value. A row that is the state itself is
  /// copied to the stacked result.
  [[nodiscard]] bool yields_fit(std::uint32_t i, std::size_t writers,
                                const std::unordered_map<std::uint32_t, std::size_t>& seen) const {
    for (std::size_t k = 0; k < body_.yields.size(); ++k) {
      if (k == yield_of(i)) continue;
      if (body_.yields[k] == body_.yields[yield_of(i)]) return false;
      const auto found = seen.find(body_.yields[k].index);
      if (found != seen.end() && found->second < writers) return false;
    }
    return true;
  }

  const ir::Module& module_;
  const Node& node_;
  const ir::Region& body_;
  const ir::Inference& inference_;
};

}  // namespace

std::optional<InPlaceStates> in_place_states(const ir::Module& module, ir::NodeId loop,
                                             const ir::Inference& inference) {
  return InPlaceFinder(module, loop, inference).find();
}

}  // namespace scanloom::plan
