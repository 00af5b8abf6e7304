#include "plan/in_place.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "ops/ops.h"

namespace scanloom::plan {
namespace {

using ir::Node;
using ir::NodeId;
using ir::ValueId;

class Finder {
 public:
  Finder(const ir::Module& module, NodeId loop, const ir::Inference& inference,
         const std::vector<std::uint32_t>& uses)
      : module_(module),
        node_(module.node(loop)),
        body_(module.region(node_.regions[0])),
        inference_(inference),
        uses_(uses) {}

  std::optional<InPlaceStates> find() {
    found_.values.resize(node_.loop->carried);
    for (std::uint32_t i = 0; i < node_.loop->carried; ++i) follow(i);
    if (links_.empty()) return std::nullopt;
    put_scatters_last();
    count_uses_before();
    for (auto& values : found_.values)
      if (!values.empty() && is_refused(values)) values.clear();
    const bool any = std::ranges::any_of(found_.values, [](const auto& v) { return !v.empty(); });
    return any ? std::optional(std::move(found_)) : std::nullopt;
  }

 private:
  /// A value that a scatter writes over: the state's argument, or what an earlier scatter made.
  struct Link {
    NodeId scatter;
    std::uint32_t seen = 0;   ///< uses that leave the scatter free to write
    std::size_t written = 0;  ///< where in the order the scatter stands
  };

  [[nodiscard]] const tensor::Type& type(ValueId id) const { return inference_.types[id.index]; }

  static bool writes_to_part(const Node& node) {
    return node.op == &ops::scatter_nd_op || node.op == &ops::scatter_elements_op;
  }

  /// From the yield back to the argument.
  void follow(std::uint32_t i) {
    const ValueId argument = body_.args[node_.loop->captured + i];
    ValueId at = body_.yields[node_.loop->first_carried_yield() + i];
    if (at == argument || !type(argument).is_tensor() || !type(argument).is_static() ||
        type(argument).dtype == DType::string || uses_[at.index] != 1)
      return;
    std::vector<ValueId>& values = found_.values[i];
    while (at != argument) {
      const NodeId producer = module_.value(at).producer;
      const bool fits = producer.valid() && module_.node(producer).parent == node_.regions[0] &&
                        writes_to_part(module_.node(producer)) && type(at).is_static() &&
                        type(at).shape() == type(argument).shape() && !inference_.is_constant(at);
      if (!fits) return values.clear();
      values.push_back(at);
      at = module_.node(producer).inputs[0];
    }
    std::ranges::reverse(values);
    ValueId before = argument;
    for (const ValueId value : values) {
      links_[before.index] = {module_.value(value).producer};
      before = value;
    }
  }

  /// A scatter whose result only the next one reads, or nothing but the yield, may wait for all
  /// others.
  void put_scatters_last() {
    std::vector<NodeId> last;
    for (const auto& values : found_.values) {
      std::size_t first = values.size();
      while (first > 0 && uses_[values[first - 1].index] == 1) --first;
      for (std::size_t k = first; k < values.size(); ++k)
        last.push_back(module_.value(values[k]).producer);
    }
    std::vector<NodeId> sorted = last;
    std::ranges::sort(sorted);
    for (const NodeId id : body_.nodes)
      if (!std::ranges::binary_search(sorted, id)) found_.order.push_back(id);
    found_.order.insert(found_.order.end(), last.begin(), last.end());
  }

  /// Views, boxed values and the results of loops and branches may still be what they were made of.
  [[nodiscard]] bool copies(const Node& node) const {
    return node.op->view == nullptr && node.op->reference != nullptr &&
           std::ranges::all_of(node.outputs, [&](ValueId output) {
             return type(output).is_tensor() && type(output).dtype != DType::string;
           });
  }

  /// Counts the uses that do not; what yields and inner regions read is not among them.
  void count_uses_before() {
    for (auto& [value, link] : links_) link.written = std::numeric_limits<std::size_t>::max();
    std::unordered_map<std::uint32_t, std::uint32_t> written_by;  // values, by scatter
    for (const auto& [value, link] : links_) written_by.emplace(link.scatter.index, value);
    for (std::size_t at = 0; at < found_.order.size(); ++at) {
      const Node& node = module_.node(found_.order[at]);
      const auto writes = written_by.find(found_.order[at].index);
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const auto read = links_.find(node.inputs[i].index);
        if (!node.inputs[i].valid() || read == links_.end()) continue;
        Link& link = read->second;
        const bool own = writes != written_by.end() && writes->second == read->first;
        if (own && i == 0)
          ++link.seen;
        else if (inference_.makes_constants(node) || (!own && copies(node) && at < link.written))
          ++link.seen;
      }
      if (writes != written_by.end()) links_.at(writes->second).written = at;
    }
  }

  /// Whether something reads one of the values when it is not there any more.
  [[nodiscard]] bool is_refused(const std::vector<ValueId>& values) const {
    for (const ValueId value : values) {
      const ValueId before = module_.node(module_.value(value).producer).inputs[0];
      if (links_.at(before.index).seen != uses_[before.index]) return true;
    }
    return false;
  }

  const ir::Module& module_;
  const Node& node_;
  const ir::Region& body_;
  const ir::Inference& inference_;
  const std::vector<std::uint32_t>& uses_;
  InPlaceStates found_;
  std::unordered_map<std::uint32_t, Link> links_;  // by the ValueId that is written over
};

}  // namespace

std::optional<InPlaceStates> in_place_states(const ir::Module& module, ir::NodeId loop,
                                             const ir::Inference& inference,
                                             const std::vector<std::uint32_t>& uses) {
  return Finder(module, loop, inference, uses).find();
}

}  // namespace scanloom::plan
