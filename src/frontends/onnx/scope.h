// What the names of one graph stand for while it is being read. A body has a scope of its own, into
// which captured values are entered under the arguments that carry them.
//
// A graph that a call hands to a function reads names of the place where it is written, wherever in
// the function its nodes are used. So the call gives each of these names an alias, a second name to
// which no text refers; scopes of the function hold the values under their aliases, bodies in
// between capture them like any other name, and the scope of the graph itself has the name again.
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

/// Neither value nor constant: an input of a function that its call leaves out.
using ops::Binding;

class Scope {
 public:
  /// Stays where it is until the scope ends; nullptr for a name that nothing makes.
  Binding* find(NameId name) {
    const auto found = bindings_.find(name.index);
    return found == bindings_.end() ? nullptr : &found->second;
  }
  void bind(NameId name, Binding binding) { bindings_[name.index] = std::move(binding); }

 private:
  std::unordered_map<std::uint32_t, Binding> bindings_;  // looked up, never walked
};

struct Root;

/// The value of a function's attribute in one call.
struct GivenAttribute {
  const AttributeProto* value = nullptr;  ///< null: it is absent
  /// Where a graph that the call passes in is written. Null: in the function itself, as default, or
  /// it holds no graph.
  std::shared_ptr<Root> origin = nullptr;
  std::vector<std::pair<NameId, NameId>> aliases = {};  ///< names read at the origin, their aliases
  /// What a node that uses the graph reads through it from the scopes of the function, each once.
  std::vector<NameId> reads = {};
};

/// The main graph or one use of a model-local function: what the nodes in it and in their bodies
/// share.
struct Root {
  std::vector<OpsetProto> opsets;
  std::map<std::string_view, GivenAttribute> attributes;  ///< of the function
  /// How many open scopes make a name; by NameId::index.
  std::unordered_map<std::uint32_t, std::uint32_t> visible;

  /// nullptr for a name that is no attribute of the function.
  [[nodiscard]] const GivenAttribute* find(std::string_view name) const {
    const auto found = attributes.find(name);
    return found == attributes.end() ? nullptr : &found->second;
  }
};

}  // namespace scanloom::onnx
