// LayerCtx: what a converter sees of one layer, and how it says what the layer becomes. Errors of
// converters carry no place: the reader puts the layer's before them.
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

/// What an output of a layer is.
using ops::Binding;

/// The row of a loop's last step, as the last one of a stack of all.
struct LastRow {
  const PortEntry* port = nullptr;
  ir::ValueId row, stack;
};

/// What one reading of an IR has in common.
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
  /// Rows of a last step that cannot be stacked, with their types: their sizes differ between
  /// steps.
  std::map<const PortEntry*, tensor::Type> changing_rows = {};
};

/// Where a layer stands.
struct LayerSite {
  const Layer& layer;
  int version = 0;  ///< of the operation: the newest that is not newer than the layer's opset
  std::vector<Binding*> operands;  ///< by input port; null where no edge leads there, an absent
                                   ///< one where a NullNode stands at its other end
  ir::Builder& builder;
  ir::LocationId location;
  int depth = 0;  ///< of bodies around the layer
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
  /// Whether the operand is left out on purpose, by a NullNode, rather than forgotten.
  [[nodiscard]] bool is_left_out(int i) const;
  /// Error: nothing leads to the port.
  Expected<ir::ValueId> in(int i);
  /// As in(); an invalid id where nothing leads to the port.
  Expected<ir::ValueId> optional_in(int i);
  [[nodiscard]] const tensor::Type& type(ir::ValueId value) { return module().value(value).type; }
  /// Errors: it is not known (unsupported), or less than `at_least`. `i` names the input.
  Expected<int> rank(int i, ir::ValueId x, int at_least = 0);
  /// What is known of input i's contents; nullptr when it is absent or computed.
  [[nodiscard]] const tensor::Tensor* constant(int i) const;
  /// The integers of input i. Errors: absent, no integers, not a constant (unsupported).
  Expected<std::vector<std::int64_t>> constant_integers(int i);
  /// Of one element.
  Expected<std::int64_t> constant_integer(int i);

  // Building.

  Expected<ir::ValueId> op(const ir::OpDef& op, std::vector<ir::ValueId> inputs,
                           std::vector<ir::NamedAttr> attrs = {}) {
    return builder().op(op, std::move(inputs), std::move(attrs));
  }

  // Results.

  [[nodiscard]] int output_count() const { return static_cast<int>(outputs_.size()); }
  /// A small value of constants alone becomes one, so that what needs a constant sees it.
  void set_output(int i, ir::ValueId value);
  void set_output(int i, Binding binding);
  void set_constant(int i, tensor::Tensor value);
  /// Output 0 is input 0, constant or not.
  void alias_output();
  /// Sets output 0 to the node `op`.
  Expected<void> emit(const ir::OpDef& op, std::vector<ir::ValueId> inputs,
                      std::vector<ir::NamedAttr> attrs = {});
  /// Sets output 0 to what the composer made, unless it has an error, which is returned.
  Expected<void> emit(ops::Composer& composer, ir::ValueId value);
  /// All outputs count as made; why the layer failed has been reported.
  void poison_outputs();

  [[nodiscard]] std::vector<Binding>& outputs() { return outputs_; }

 private:
  Reading& reading_;
  LayerSite site_;
  std::vector<Binding> outputs_;
};

/// The type that a Parameter declares.
struct DeclaredType {
  tensor::Type type;
  bool has_dtype = true;          ///< false: the element type is "dynamic", or not said
  std::vector<SizeRange> ranges;  ///< of sizes that are intervals
};

/// Returns the type that a Parameter declares, or its port where it leaves something out. Errors:
/// an element type that is not known, a shape that is none.
Expected<DeclaredType> declared_type(Reading& reading, const Layer& parameter);

/// "f32[2,3]", for messages.
[[nodiscard]] std::string describe_type(LayerCtx& ctx, ir::ValueId value);

}  // namespace scanloom::openvino
