// What the names of one graph stand for while it is being read. A body has a scope of its own, into
// which captured values are entered under the arguments that carry them.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "frontends/onnx/names.h"
#include "frontends/onnx/proto.h"
#include "ir/module.h"

namespace scanloom::onnx {

/// A value of the region, a constant that is not in the region yet, or both; neither: an input of a
/// function that its call leaves out.
struct Binding {
  ir::ValueId value;                               ///< invalid: made from `constant` when needed
  std::shared_ptr<const tensor::Tensor> constant;  ///< null: not known when reading
  bool poisoned = false;                           ///< its maker failed, which has been reported

  [[nodiscard]] bool is_absent() const {
    return !value.valid() && constant == nullptr && !poisoned;
  }
  static Binding of(ir::ValueId value) { return {value, nullptr, false}; }
  static Binding of(std::shared_ptr<const tensor::Tensor> constant) {
    return {{}, std::move(constant), false};
  }
  static Binding poison() { return {{}, nullptr, true}; }
};

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
