// What the names of one graph stand for while it is being read. A body has a scope of its own, into
// which captured values are entered under the arguments that carry them.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
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

/// The main graph or one use of a model-local function: what the nodes in it and in their bodies
/// share.
struct Root {
  std::vector<OpsetProto> opsets;
  /// Inside a function: what its attributes stand for; null where one is absent.
  std::vector<std::pair<std::string_view, const AttributeProto*>> attributes;
  /// How many open scopes make a name; by NameId::index.
  std::unordered_map<std::uint32_t, std::uint32_t> visible;
};

}  // namespace scanloom::onnx
