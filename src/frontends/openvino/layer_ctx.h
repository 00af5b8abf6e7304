// LayerCtx: a converter's view of one layer, and how the converter reports what the layer becomes.
// Errors from converters carry no location: the reader prepends the layer's.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "frontends/openvino/attributes.h"
#include "frontends/openvino/read.h"
#include "frontends/openvino/types.h"
#include "frontends/openvino/variables.h"
#include "frontends/openvino/weights.h"
#include "ir/builder.h"
#include "ops/binding.h"
#include "ops/composer.h"

namespace scanloom::openvino {

/// The value bound to an output of a layer.
using ops::Binding;

/// The row of a loop's last step, given as the last row of the stack of all rows.
struct LastRow {
  const PortEntry* port = nullptr;
  ir::ValueId row, stack;
};

/// The state shared by everything that reads one IR.
struct Reading {
  const Document& document;
  const Weights& weights;
  const ReadOptions& options;
  Diagnostics& diagnostics;
  ir::Module& module;
  std::vector<Variable> variables = {};
  VariableUses variable_uses = {};
  std::map<std::string, LearntSizes> learnt_sizes = {};  ///< by variable
  std::vector<bool> graphs_read = std::vector<bool>(document.graphs.size());
  std::vector<VariableScope> scopes = std::vector<VariableScope>(1);  ///< of the open graphs
  std::vector<LastRow> last_rows = {};
  /// Rows of a last step that cannot be stacked because their sizes differ between steps, with
  /// their types.
  std::map<const PortEntry*, tensor::Type> changing_rows = {};
};

/// The context of a layer.
struct LayerSite {
  const Layer& layer;
  int version = 0;                 ///< of the operation: the newest not above the layer's opset
  std::vector<Binding*> operands;  ///< by input port; null without an edge, absent for one from a
                                   ///< NullNode
  ir::Builder& builder;
  ir::LocationId location;
  int depth = 0;  ///< number of bodies around the layer
};

class LayerCtx {
 public:
  LayerCtx(Reading& reading, const LayerSite& site)
      : attributes(site.layer),
        reading_(reading),
        site_(site),
        outputs_(site.layer.outputs.size()) {}

  Attributes attributes;

  [[nodiscard]] const Layer& layer() const { return site_.layer; }
  [[nodiscard]] int version() const { return site_.version; }
  [[nodiscard]] Reading& reading() { return reading_; }
  [[nodiscard]] const LayerSite& site() const { return site_; }
  [[nodiscard]] ir::Builder& builder() { return site_.builder; }
  [[nodiscard]] ir::Module& module() { return reading_.module; }

  // Operands.

  [[nodiscard]] int input_count() const { return static_cast<int>(site_.operands.size()); }
  [[nodiscard]] bool has(int i) const;
  /// Whether the operand is deliberately left out, with a NullNode, rather than forgotten.
  [[nodiscard]] bool is_left_out(int i) const;
  /// Error: nothing leads to the port.
  Expected<ir::ValueId> in(int i);
  /// Like in(), but returns an invalid id if nothing leads to the port.
  Expected<ir::ValueId> optional_in(int i);
  [[nodiscard]] const tensor::Type& type(ir::ValueId value) { return module().value(value).type; }
  /// Returns the rank of x. Errors, naming input i: it is unknown (unsupported), or less than
  /// `at_least`.
  Expected<int> rank(int i, ir::ValueId x, int at_least = 0);
  /// Returns the contents of input i as far as they are known; nullptr if it is absent or computed.
  [[nodiscard]] const tensor::Tensor* constant(int i) const;
  /// Whether constant_integers() knows the elements of input i: it is a constant, or integers that
  /// follow from known sizes.
  [[nodiscard]] bool is_known(int i);
  /// Returns the integers of input i. Errors: absent, not integers, not known (unsupported).
  Expected<std::vector<std::int64_t>> constant_integers(int i);
  /// Like constant_integers(), for exactly one element.
  Expected<std::int64_t> constant_integer(int i);

  // Building.

  Expected<ir::ValueId> op(const ir::OpDef& op, std::vector<ir::ValueId> inputs,
                           std::vector<ir::NamedAttr> attrs = {}) {
    return builder().op(op, std::move(inputs), std::move(attrs));
  }

  // Results.

  [[nodiscard]] int output_count() const { return static_cast<int>(outputs_.size()); }
  /// Folds a small value computed only from constants, so that consumers that need a constant see
  /// one.
  void set_output(int i, ir::ValueId value);
  void set_output(int i, Binding binding);
  void set_constant(int i, tensor::Tensor value);
  /// Makes output 0 the value of input 0, constant or not.
  void alias_output();
  /// Sets output 0 to a new node of `op`.
  Expected<void> emit(const ir::OpDef& op, std::vector<ir::ValueId> inputs,
                      std::vector<ir::NamedAttr> attrs = {});
  /// Sets output 0 to `value`, or returns the composer's error if it has one.
  Expected<void> emit(ops::Composer& composer, ir::ValueId value);
  /// Marks all outputs as produced after an error that has been reported.
  void poison_outputs();

  [[nodiscard]] std::vector<Binding>& outputs() { return outputs_; }

 private:
  /// Returns the elements of input i if they follow from known sizes.
  std::optional<std::vector<std::int64_t>> inferred_integers(int i);

  Reading& reading_;
  LayerSite site_;
  std::vector<Binding> outputs_;
};

/// The type declared by a Parameter.
struct DeclaredType {
  tensor::Type type;
  bool has_dtype = true;          ///< false: the element type is "dynamic" or missing
  std::vector<SizeRange> ranges;  ///< of sizes declared as intervals
};

/// Returns the type declared by a Parameter, or by its port where the attributes leave something
/// out. Errors: unknown element type, malformed shape.
Expected<DeclaredType> declared_type(Reading& reading, const Layer& parameter);

/// "f32[2,3]", for messages.
[[nodiscard]] std::string describe_type(LayerCtx& ctx, ir::ValueId value);

}  // namespace scanloom::openvino
