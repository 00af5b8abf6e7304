// Variables of ReadValue and Assign. A variable is one of the model, whatever graph reads or
// assigns it: bodies get its value as a further port, and hand back what they have assigned.
//
// What a run or a step assigns is read by the next one: all ReadValues of a graph, and of the
// bodies in it, see the value that the graph was entered with.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/expected.h"
#include "frontends/openvino/document.h"
#include "frontends/openvino/variable_hints.h"
#include "ir/module.h"

namespace scanloom::openvino {

struct Reading;

/// Sizes of a variable that its layers leave open, as readings before this one have shown them:
/// those that change are open.
struct LearntSizes {
  bool ranked = true;
  std::vector<bool> is_open;  ///< by axis
};

/// A state of the module.
struct Variable {
  std::string id;
  ir::ValueId argument;  ///< of the top region: the value kept
  ir::ValueId is_kept;   ///< of the top region; invalid: the initial value is a constant
  ir::ValueId read;      ///< of the top region: what ReadValue gives, where that is not `argument`
  tensor::Tensor initial;
  bool has_initial = false;  ///< a ReadValue has said it; otherwise zeros
  bool is_guessed = false;   ///< no layer says its sizes: those of its first value may change
};

/// Which variables the graphs of a document read and assign, those of bodies within included.
class VariableUses {
 public:
  VariableUses() = default;
  explicit VariableUses(const Document& document);

  struct Use {
    std::string id;
    bool is_assigned = false;
  };
  /// Those of the bodies that anything reads; what nobody reads is kept by nobody.
  [[nodiscard]] std::vector<Use> of(std::span<const GraphIndex> bodies) const;
  [[nodiscard]] std::vector<Use> of(const Layer& layer) const;
  [[nodiscard]] bool in_bodies(const std::string& id) const;
  /// The ReadValues of a variable, then its Assigns, in any graph.
  [[nodiscard]] std::vector<LayerPosition> layers(const std::string& id) const;
  /// An Assign of each variable that no ReadValue reads.
  [[nodiscard]] std::vector<std::pair<std::string, LayerPosition>> never_read() const;

 private:
  struct OfGraph {
    std::set<std::string> read, assigned;
  };
  std::vector<OfGraph> graphs_;  ///< by GraphIndex
  std::map<std::string, std::vector<LayerPosition>> readers_, assigns_;
  std::set<std::string> in_bodies_;
};

/// What the graph that is being read knows of them.
struct VariableScope {
  std::map<std::string, ir::ValueId> entered;  ///< the value that its ReadValues see
  std::map<std::string, ir::ValueId> assigned;
};

/// What a run begins with whose stream keeps nothing: zeros, open sizes being 0. Error:
/// unsupported, too many of them.
Expected<tensor::Tensor> initial_zeros(const std::string& id, const tensor::Type& type);
/// What a variable holds.
struct VariableType {
  tensor::Type type;        ///< of every value
  tensor::Type begins;      ///< of the first one, where no ReadValue says it
  bool is_guessed = false;  ///< no layer declares the sizes
};
/// Returns the type that the layers of a variable declare. What they leave open is that of `first`,
/// if valid, or what is said around them. Error: nothing says the element type.
Expected<VariableType> variable_type(Reading& reading, const std::string& id, ir::ValueId first);
/// Whether a value can have both types: nothing that is known of either contradicts the other.
bool may_be_equal(const tensor::Type& a, const tensor::Type& b);
/// What the variable is on entry of the graph that is being read. A variable of bodies becomes an
/// argument of the module when the main graph first comes to it. Error: its type is not known.
Expected<ir::ValueId> entered_value(Reading& reading, const std::string& id);
/// Error: a layer of the graph, or a body in it, has assigned it already; another element type.
Expected<void> assign_variable(Reading& reading, const std::string& id, ir::ValueId value);
/// What the graph hands back: what it has assigned, or else what it was entered with.
ir::ValueId left_value(const VariableScope& scope, const std::string& id);

}  // namespace scanloom::openvino
