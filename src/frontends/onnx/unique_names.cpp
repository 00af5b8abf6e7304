// Importer's check that every name in a graph is bound to one value. Later stages rely on it: the
// order of nodes, and which outer values a body reads.
#include "frontends/onnx/importer.h"

namespace scanloom::onnx {

namespace {

/// Limit on the errors that describe the other owner of a name, because each of them searches the
/// enclosing graphs.
constexpr std::size_t kMaxNamedMakers = 50;

}  // namespace

/// The producer of a value of a graph: an input, an initialiser or, if the kind is "output", a
/// node.
struct Importer::Maker {
  std::string_view kind;
  std::size_t index = 0;
  std::uint32_t node = 0;

  [[nodiscard]] bool is_node() const { return kind == "output"; }
};

/// Calls take(name, maker) for every name the frame's graph produces.
template <class Take>
void Importer::for_each_made(const GraphFrame& frame, const Take& take) const {
  const GraphFacts& facts = reading_.facts[frame.graph];
  const auto each = [&](const std::vector<NameId>& names, Maker maker) {
    for (maker.index = 0; maker.index < names.size(); ++maker.index)
      if (names[maker.index].valid()) take(names[maker.index], maker);
  };
  each(facts.inputs, {frame.label.empty() ? "graph input" : "input"});
  each(facts.initialisers, {"initialiser"});
  each(facts.sparse_initialisers, {"sparse initialiser"});
  for (std::uint32_t node = 0; node < facts.nodes.size(); ++node)
    each(facts.nodes[node].outputs, {"output", 0, node});
}

std::string Importer::describe(const GraphFrame& frame, const Maker& maker) const {
  const std::string text = fmt::format("{} {}", maker.kind, maker.index);
  return maker.is_node() ? text + " of " + describe(frame, maker.node).location : text;
}

/// An initialiser may share the name of an input and is then its default value.
void Importer::check_names(GraphFrame& frame) {
  std::unordered_map<std::uint32_t, Maker> makers;  // looked up, never iterated
  for_each_made(frame, [&](NameId name, const Maker& maker) {
    const auto [other, is_new] = makers.try_emplace(name.index, maker);
    if (is_new) return;
    const bool is_input = other->second.kind.ends_with("input");
    if (is_input && maker.kind.ends_with("initialiser")) {
      other->second = maker;
      return;
    }
    frame.clashing.insert(name.index);
    frame.scope.bind(name, Binding::poison());
    const std::string text =
        fmt::format("{} {} '{}'", maker.kind, maker.index, shown_name(reading_.names.text(name)));
    const std::string first = describe(frame, other->second);
    Error error = maker.is_node() ? invalid_model("{} has the same name as {}", text, first)
                                  : invalid_model("it has the same name as {}", first);
    error.note("in a graph every name must stand for one value");
    fail_at(frame, maker.is_node() ? describe(frame, maker.node).location : text, std::move(error));
  });
}

/// Describes the value with that name in the innermost enclosing graph.
std::string Importer::describe_outer(NameId wanted) const {
  if (reading_.diagnostics.error_count() >= kMaxNamedMakers) return "a value of an enclosing graph";
  std::string text;
  const std::shared_ptr<Root>& root = stack_.back()->root;
  for (std::size_t i = stack_.size() - 1; i-- > 0 && text.empty();) {
    if (stack_[i]->root != root) continue;
    for_each_made(*stack_[i], [&](NameId name, const Maker& maker) {
      if (name == wanted && text.empty()) text = describe(*stack_[i], maker);
    });
  }
  return text;
}

}  // namespace scanloom::onnx
