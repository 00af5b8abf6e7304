// Variables of ReadValue and Assign. A variable belongs to the model, whichever graph reads or
// assigns it: bodies receive its value through an additional port and return what they have
// assigned.
//
// A value assigned in a run or step is read by the next one: all ReadValues of a graph, and of the
// bodies in it, see the value with which the graph was entered.
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

/// Sizes of a variable that its layers leave open, as learnt from previous attempts to read the
/// model: those that change are open.
struct LearntSizes {
  bool ranked = true;
  std::vector<bool> is_open;  ///< by axis
};

/// A state of the module.
struct Variable {
  std::string id;
  ir::ValueId argument;  ///< of the top region: the stored value
  ir::ValueId is_kept;   ///< of the top region; invalid if the initial value is a constant
  ir::ValueId read;      ///< of the top region: the value ReadValue returns, if not `argument`
  tensor::Tensor initial;
  bool has_initial = false;  ///< whether a ReadValue gives it; otherwise zeros
  bool is_guessed = false;   ///< no layer declares its sizes: those of its first value may change
};

/// Which variables the graphs of a document read and assign, including those of nested bodies.
class VariableUses {
 public:
  VariableUses() = default;
  explicit VariableUses(const Document& document);

  struct Use {
    std::string id;
    bool is_assigned = false;
  };
  /// The variables of the bodies that anything reads; a variable that is never read is not stored.
  [[nodiscard]] std::vector<Use> of(std::span<const GraphIndex> bodies) const;
  [[nodiscard]] std::vector<Use> of(const Layer& layer) const;
  [[nodiscard]] bool in_bodies(const std::string& id) const;
  /// The ReadValues of a variable, then its Assigns, in any graph.
  [[nodiscard]] std::vector<LayerPosition> layers(const std::string& id) const;
  /// An Assign for each variable that no ReadValue reads.
  [[nodiscard]] std::vector<std::pair<std::string, LayerPosition>> never_read() const;

 private:
  struct OfGraph {
    std::set<std::string> read, assigned;
  };
  std::vector<OfGraph> graphs_;  ///< by GraphIndex
  std::map<std::string, std::vector<LayerPosition>> readers_, assigns_;
  std::set<std::string> in_bodies_;
};

/// The variables as known to the graph being read.
struct VariableScope {
  std::map<std::string, ir::ValueId> entered;  ///< the value its ReadValues see
  std::map<std::string, ir::ValueId> assigned;
};

/// Returns the initial value for a run whose stream stores nothing: zeros, with open sizes set to
/// 0. Error: unsupported, too many elements.
Expected<tensor::Tensor> initial_zeros(const std::string& id, const tensor::Type& type);
/// The types of a variable's values.
struct VariableType {
  tensor::Type type;        ///< of every value
  tensor::Type begins;      ///< of the first one, if no ReadValue gives it
  bool is_guessed = false;  ///< no layer declares the sizes
};
/// Returns the type declared by the layers of a variable. Where they leave it open, it is taken
/// from `first`, if valid, or from the surroundings. Error: nothing determines the element type.
Expected<VariableType> variable_type(Reading& reading, const std::string& id, ir::ValueId first);
/// Whether one value can have both types: nothing known about either contradicts the other.
bool may_be_equal(const tensor::Type& a, const tensor::Type& b);
/// Returns the value of the variable on entry to the graph being read. A variable used in bodies
/// becomes an argument of the module when the main graph first reaches it. Error: its type is
/// unknown.
Expected<ir::ValueId> entered_value(Reading& reading, const std::string& id);
/// Error: a layer of the graph, or a body in it, has already assigned it; a different element type.
Expected<void> assign_variable(Reading& reading, const std::string& id, ir::ValueId value);
/// Returns the value the graph returns: the one it assigned, or else the one it was entered with.
ir::ValueId left_value(const VariableScope& scope, const std::string& id);

}  // namespace scanloom::openvino
