#include "expr/node.h"

#include <algorithm>
#include <atomic>
#include <unordered_set>

namespace scanloom::expr {
namespace {

std::uint64_t next_id() {
  static constinit std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

/// Nodes whose last owner is gone. They are released one after the other: a chain may be so long
/// that its nodes, each releasing the next, would fill the stack.
class Graveyard {
 public:
  void bury(Expr&& x) {
    if (x.node()) dead_.push_back(std::move(x));
  }
  void empty() {
    if (busy_) return;
    busy_ = true;
    while (!dead_.empty()) {
      const Expr last = std::move(dead_.back());
      dead_.pop_back();
    }
    busy_ = false;
  }

 private:
  std::vector<Expr> dead_;
  bool busy_ = false;
};

Graveyard& graveyard() {
  thread_local Graveyard place;
  return place;
}

}  // namespace

Node::Node(Kind kind_of, std::vector<StaticType> types)
    : id(next_id()), kind(kind_of), outputs(std::move(types)) {}

Node::~Node() {
  Graveyard& place = graveyard();
  for (Expr& x : inputs) place.bury(std::move(x));
  for (Body& body : bodies) {
    for (Expr& x : body.yields) place.bury(std::move(x));
    for (Expr& x : body.args) place.bury(std::move(x));
  }
  // What a part is part of, where nobody else asks for it.
  if (part.use_count() == 1) place.bury(std::move(std::const_pointer_cast<PartOf>(part)->whole));
  if (last_row.use_count() == 1) place.bury(std::move(*std::const_pointer_cast<Expr>(last_row)));
  place.empty();
}

Expr failed(Error error) {
  auto node = std::make_shared<Node>(Kind::failed, std::vector<StaticType>(1));
  node->error = std::move(error);
  return Expr(std::move(node));
}

const Expr* first_failed(std::span<const Expr> inputs) {
  const auto found = std::ranges::find_if(
      inputs, [](const Expr& x) { return x.defined() && x.error() != nullptr; });
  return found == inputs.end() ? nullptr : &*found;
}

Expr constant_of(tensor::Tensor value) {
  StaticType type{value.dtype(), {value.shape().begin(), value.shape().end()}};
  auto node = std::make_shared<Node>(Kind::constant, std::vector{std::move(type)});
  node->value = std::move(value);
  return Expr(std::move(node));
}

Expr placeholder(StaticType type, std::string name) {
  auto node = std::make_shared<Node>(Kind::input, std::vector{std::move(type)});
  node->names = {std::move(name)};
  return Expr(std::move(node));
}

std::optional<std::vector<std::int64_t>> constant_integers(const Expr& x) {
  if (!x.defined() || x.node()->kind != Kind::constant) return std::nullopt;
  return tensor::to_integers(x.node()->value);
}

std::string to_string(const StaticType& type) {
  std::string text = std::string(dtype_name(type.dtype)) + "[";
  for (std::size_t i = 0; i < type.sizes.size(); ++i) {
    if (i > 0) text += ",";
    text += type.sizes[i] < 0 ? "?" : std::to_string(type.sizes[i]);
  }
  return text + "]";
}

std::string describe(const Expr& x) {
  if (!x.name().empty()) return "'" + x.name() + "'";
  const Node& node = *x.node();
  if (node.kind == Kind::constant) return "a constant " + to_string(type_of(x));
  if (node.op == nullptr) return "a variable " + to_string(type_of(x));
  if (node.loop && !node.place.empty()) return "the result of " + node.place;
  return "the result of " + std::string(node.op->name) + ", " + to_string(type_of(x));
}

std::vector<const Node*> reachable(std::span<const Expr> outputs) {
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> nodes;
  const auto visit = [&](const Expr& x) {
    if (x.defined() && seen.insert(x.node().get()).second) nodes.push_back(x.node().get());
  };
  for (const Expr& x : outputs) visit(x);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const Expr& x : nodes[i]->inputs) visit(x);
  std::ranges::sort(nodes, {}, [](const Node* node) { return node->id; });
  return nodes;
}

}  // namespace scanloom::expr
