// Body: the graph inside a TensorIterator, Loop or If with its port map. It sees nothing of the
// graph around it but what its Parameters are bound to.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frontends/openvino/reader.h"

namespace scanloom::openvino {

class Body {
 public:
  /// The region becomes the next one of `owner`.
  Body(LayerCtx& ctx, const BodyPart& part, ir::NodeId owner);

  /// Enters layers and edges; what is wrong with them is reported.
  void enter() { reader_.enter(); }
  [[nodiscard]] ir::Builder& builder() { return builder_; }
  [[nodiscard]] const BodyPart& part() const { return part_; }
  /// The Parameter, or Result, of that id. Error naming the entry, "port_map input 2".
  Expected<const Layer*> parameter(const std::string& entry, std::int64_t id) const;
  Expected<const Layer*> result_layer(const std::string& entry, std::int64_t id) const;
  /// An argument of the region, which the Parameter stands for from now on. Error: as bind().
  Expected<void> add_argument(const Layer& parameter, tensor::Type type);
  /// What `value` of the region of `outer` is in here: an argument, for which the owner of the body
  /// captures widest(outer, value).
  Expected<ir::ValueId> add_captured(ir::Builder& outer, ir::ValueId value, std::string name = {});
  /// Binds the Parameter to a value. The value's sizes replace the declared ones, as in OpenVINO,
  /// and its element type replaces "dynamic". Error: the Parameter declares another element type.
  Expected<void> bind(const Layer& parameter, Binding binding);
  /// The Parameter stands for an operand that is left out.
  void leave_out(const Layer& parameter) { reader_.leave_out(parameter); }
  /// False: reported already.
  [[nodiscard]] bool run() { return reader_.run(); }
  /// Reports what is wrong inside where the Parameters cannot be bound.
  void run_unbound() { reader_.run_unbound(); }
  /// What leads to the Result, known or not. Precondition: run() has given true.
  [[nodiscard]] Binding result(const Layer& layer) { return reader_.result(layer); }
  /// As a value of the region. Error: nothing leads to it.
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
