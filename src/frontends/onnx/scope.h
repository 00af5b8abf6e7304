// The bindings of the names of one graph while it is read. Each body has its own scope, in which
// captured values are bound to the arguments that carry them.
//
// A graph that a call passes to a function reads names of the place where it is written, wherever
// in the function it is used. The call therefore gives each of these names an alias, a second name
// that no text refers to. Scopes of the function bind the values to their aliases, bodies in
// between capture them like any other name, and the scope of the graph itself uses the name again.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frontends/onnx/names.h"
#include "frontends/onnx/proto.h"
#include "ops/binding.h"

namespace scanloom::onnx {

/// A Binding with neither value nor constant is a function input that the call leaves out.
using ops::Binding;

class Scope {
 public:
  /// Valid until the scope ends; nullptr if nothing produces the name.
  Binding* find(NameId name) {
    const auto found = bindings_.find(name.index);
    return found == bindings_.end() ? nullptr : &found->second;
  }
  void bind(NameId name, Binding binding) { bindings_[name.index] = std::move(binding); }

 private:
  std::unordered_map<std::uint32_t, Binding> bindings_;  // looked up, never iterated
};

struct Root;

/// The value of a function attribute in one call.
struct GivenAttribute {
  const AttributeProto* value = nullptr;  ///< null if absent
  /// Where a graph passed by the call is written. Null if it is in the function itself (a default),
  /// or if the attribute holds no graph.
  std::shared_ptr<Root> origin = nullptr;
  std::vector<std::pair<NameId, NameId>> aliases = {};  ///< names read at the origin, and aliases
  /// The names that a node using the graph reads through it from the function's scopes, each once.
  std::vector<NameId> reads = {};
};

/// The main graph or one call of a model-local function: the state shared by its nodes and their
/// bodies.
struct Root {
  std::vector<OpsetProto> opsets;
  std::map<std::string_view, GivenAttribute> attributes;  ///< of the function
  /// The number of open scopes that bind a name, by NameId::index.
  std::unordered_map<std::uint32_t, std::uint32_t> visible;

  /// nullptr if the function has no such attribute.
  [[nodiscard]] const GivenAttribute* find(std::string_view name) const {
    const auto found = attributes.find(name);
    return found == attributes.end() ? nullptr : &found->second;
  }
};

}  // namespace scanloom::onnx
