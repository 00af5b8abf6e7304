#include "frontends/onnx/unique_names.h"

#include "frontends/onnx/node_step.h"

namespace scanloom::onnx {
namespace {

/// Limit on the errors that describe the other owner of a name, because each of them searches the
/// enclosing graphs.
constexpr std::size_t kMaxNamedMakers = 50;

/// The producer of a value of a graph: an input, an initialiser or, if the kind is "output", a
/// node.
struct Maker {
  std::string_view kind;
  std::size_t index = 0;
  std::uint32_t node = 0;

  [[nodiscard]] bool is_node() const { return kind == "output"; }
};

/// Calls take(name, maker) for every name the frame's graph produces.
template <class Take>
void for_each_made(const ImportState& state, const GraphFrame& frame, const Take& take) {
  const GraphFacts& facts = state.reading.facts[frame.graph];
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

std::string describe_maker(const ImportState& state, const GraphFrame& frame, const Maker& maker) {
  const std::string text = fmt::format("{} {}", maker.kind, maker.index);
  return maker.is_node() ? text + " of " + describe_step(state, frame, maker.node).location : text;
}

}  // namespace

void check_names(const ImportState& state, GraphFrame& frame) {
  std::unordered_map<std::uint32_t, Maker> makers;  // looked up, never iterated
  for_each_made(state, frame, [&](NameId name, const Maker& maker) {
    const auto [other, is_new] = makers.try_emplace(name.index, maker);
    if (is_new) return;
    const bool is_input = other->second.kind.ends_with("input");
    if (is_input && maker.kind.ends_with("initialiser")) {
      other->second = maker;
      return;
    }
    frame.clashing.insert(name.index);
    frame.scope.bind(name, Binding::poison());
    const std::string text = fmt::format("{} {} '{}'", maker.kind, maker.index,
                                         shown_name(state.reading.names.text(name)));
    const std::string first = describe_maker(state, frame, other->second);
    Error error = maker.is_node() ? invalid_model("{} has the same name as {}", text, first)
                                  : invalid_model("it has the same name as {}", first);
    error.note("in a graph every name must stand for one value");
    fail_at(state, frame, maker.is_node() ? describe_step(state, frame, maker.node).location : text,
            std::move(error));
  });
}

std::string describe_outer(const ImportState& state, NameId wanted) {
  if (state.reading.diagnostics.error_count() >= kMaxNamedMakers)
    return "a value of an enclosing graph";
  std::string text;
  const std::shared_ptr<Root>& root = state.frames.back()->root;
  for (std::size_t i = state.frames.size() - 1; i-- > 0 && text.empty();) {
    if (state.frames[i]->root != root) continue;
    for_each_made(state, *state.frames[i], [&](NameId name, const Maker& maker) {
      if (name == wanted && text.empty()) text = describe_maker(state, *state.frames[i], maker);
    });
  }
  return text;
}

}  // namespace scanloom::onnx
