// Body: the graph inside a TensorIterator, Loop or If, with its port map. It sees nothing of the
// enclosing graph except the values its Parameters are bound to.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frontends/openvino/reader.h"

namespace scanloom::openvino {

class Body {
 public:
  /// Creates the next region of `owner`.
  Body(LayerCtx& ctx, const BodyPart& part, ir::NodeId owner);

  /// Enters layers and edges. Errors are reported.
  void enter() { reader_.enter(); }
  [[nodiscard]] ir::Builder& builder() { return builder_; }
  [[nodiscard]] const BodyPart& part() const { return part_; }
  /// Returns the Parameter or Result with that id. Errors name the entry: "port_map input 2".
  Expected<const Layer*> parameter(const std::string& entry, std::int64_t id) const;
  Expected<const Layer*> result_layer(const std::string& entry, std::int64_t id) const;
  /// Adds an argument to the region and binds the Parameter to it. Errors: as for bind().
  Expected<void> add_argument(const Layer& parameter, tensor::Type type);
  /// Returns the value in the body that stands for `value` of the region of `outer`: an argument,
  /// for which the owner of the body must capture widest(outer, value).
  Expected<ir::ValueId> add_captured(ir::Builder& outer, ir::ValueId value, std::string name = {});
  /// Binds the Parameter to a value. As in OpenVINO, the value's sizes replace the declared ones,
  /// and its element type replaces "dynamic". Error: the Parameter declares another element type.
  Expected<void> bind(const Layer& parameter, Binding binding);
  /// Binds the Parameter to an absent operand.
  void leave_out(const Layer& parameter) { reader_.leave_out(parameter); }
  /// False if an error was reported.
  [[nodiscard]] bool run() { return reader_.run(); }
  /// Reports errors inside the body when its Parameters cannot be bound.
  void run_unbound() { reader_.run_unbound(); }
  /// Returns the binding that leads to the Result, known or not. Precondition: run() returned true.
  [[nodiscard]] Binding result(const Layer& layer) { return reader_.result(layer); }
  /// Returns the Result as a value of the region. Error: nothing leads to it.
  Expected<ir::ValueId> result_value(const Layer& layer);

 private:
  Expected<const Layer*> layer_of(const std::string& entry, std::int64_t id,
                                  std::string_view type) const;

  Reading& reading_;
  const BodyPart& part_;
  ir::RegionId region_;
  ir::Builder builder_;
  GraphReader reader_;
};

}  // namespace scanloom::openvino
