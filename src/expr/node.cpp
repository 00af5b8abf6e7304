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

/// Values whose last owner is gone, collected while the outermost destructor of a node runs in this
/// thread and then released one by one. In a long chain of nodes, recursive release would overflow
/// the stack.
thread_local constinit std::vector<Expr>* dead_values = nullptr;

void bury(Expr& x) {
  if (x.defined()) dead_values->push_back(std::move(x));
}

void bury(PartOf& part) {
  bury(part.whole);
  for (Index& item : part.items)
    for (Expr* x : {&item.at, &item.start, &item.stop, &item.step}) bury(*x);
}

}  // namespace

Node::Node(Kind kind_of, std::vector<StaticType> types)
    : id(next_id()), kind(kind_of), outputs(std::move(types)) {}

Node::~Node() {
  std::vector<Expr> own;
  const bool outermost = dead_values == nullptr;
  if (outermost) dead_values = &own;
  for (Expr& x : inputs) bury(x);
  for (Expr& x : built_of) bury(x);
  bury(written);
  if (stable != nullptr) {
    StableForm form = *stable;
    bury(form.value);
    for (Expr& x : form.arguments) bury(x);
    for (Expr& x : form.passed) bury(x);
    stable.reset();
  }
  for (Expr& x : body.yields) bury(x);
  for (Expr& x : body.args) bury(x);
  // The tensor that a part belongs to, if nothing else needs it.
  if (part.use_count() == 1) bury(*std::const_pointer_cast<PartOf>(part));
  if (last_row.use_count() == 1) bury(*std::const_pointer_cast<Expr>(last_row));
  if (!outermost) return;
  while (!own.empty()) {
    const Expr last = std::move(own.back());
    own.pop_back();
  }
  dead_values = nullptr;
}

const StaticType& type_of(const Expr& x) {
  static const StaticType nothing;
  return x.defined() ? x.node()->outputs[x.output()] : nothing;
}

StaticType joined(const StaticType& a, const StaticType& b) {
  StaticType both = a;
  for (std::size_t i = 0; i < a.sizes.size(); ++i)
    if (a.sizes[i] != b.sizes[i]) both.sizes[i] = -1;
  return both;
}

Expr failed(Error error) {
  auto node = std::make_shared<Node>(Kind::failed, std::vector<StaticType>(1));
  node->error = std::move(error);
  return Expr(std::move(node));
}

Expr unusable(const Expr& x) {
  if (!x.defined()) return failed(fail(Code::invalid_argument, "a value is missing"));
  return x.error() != nullptr ? x : Expr();
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

Expr built_of(Expr x, std::span<const Expr> parts) {
  if (x.error() != nullptr) return x;
  for (const Expr& part : parts)
    if (part.defined()) x.node()->built_of.push_back(part);
  return x;
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
  if (!x.defined()) return "a missing value";
  if (!x.name().empty()) return "'" + x.name() + "'";
  const Node& node = *x.node();
  if (node.kind == Kind::constant) return "a constant " + to_string(type_of(x));
  if (node.op == nullptr) return "a variable " + to_string(type_of(x));
  if (node.loop && !node.location.empty()) return "the result of " + node.location;
  return "the result of " + std::string(node.op->name) + ", " + to_string(type_of(x));
}

bool is_whole_axis(const Index& item) {
  return item.kind == Index::Kind::slice && !item.start.defined() && !item.stop.defined() &&
         !item.step.defined();
}

std::vector<const Node*> reachable(std::span<const Expr> outputs) {
  return reachable(outputs, [](const Node&) { return false; });
}

std::vector<const Node*> reachable(std::span<const Expr> outputs,
                                   const std::function<bool(const Node&)>& uses) {
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> nodes;
  const auto visit = [&](const Expr& x) {
    if (x.defined() && seen.insert(x.node().get()).second) nodes.push_back(x.node().get());
  };
  for (const Expr& x : outputs) visit(x);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = *nodes[i];
    if (node.stable != nullptr && uses(node)) {
      visit(node.stable->value);
      continue;
    }
    for (const Expr& x : node.inputs) visit(x);
  }
  std::ranges::sort(nodes, {}, [](const Node* node) { return node->id; });
  return nodes;
}

std::vector<const Node*> reachable_in_any_form(std::span<const Expr> outputs) {
  std::vector<const Node*> nodes = reachable(outputs);
  const std::vector<const Node*> computed = reachable(outputs, [](const Node&) { return true; });
  nodes.insert(nodes.end(), computed.begin(), computed.end());
  std::ranges::sort(nodes, {}, [](const Node* node) { return node->id; });
  const auto [first, last] = std::ranges::unique(nodes);
  nodes.erase(first, last);
  return nodes;
}

}  // namespace scanloom::expr
