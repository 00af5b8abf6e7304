// The layers and edges of one graph of an IR under construction: the main graph or a body.
#pragma once

#include <pugixml.hpp>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "exporters/openvino/weights_writer.h"
#include "tensor/type.h"

namespace scanloom::exporters::openvino {

/// An output port of a layer. Port ids count inputs first, as in IRs.
struct Output {
  int layer = -1;
  int port = -1;
  [[nodiscard]] bool valid() const { return layer >= 0; }
  friend bool operator==(const Output&, const Output&) = default;
};

/// Attributes of a layer, as the IR names them.
using Data = std::vector<std::pair<std::string, std::string>>;

struct NewLayer {
  std::string_view type;
  int opset = 1;
  std::vector<Output> inputs = {};
  std::vector<DType> results = {};
  Data data = {};
  std::string_view name = {};  ///< made unique; if empty, derived from the type
};

class LayerGraph {
 public:
  /// Writes <layers> and <edges> below `parent`, a <net> or a body. `weights` must outlive the
  /// graph.
  LayerGraph(pugi::xml_node parent, WeightsWriter& weights);

  /// Returns the id of the layer. Its outputs have the ports inputs.size() and up.
  int add(const NewLayer& layer);
  Output parameter(std::string_view name, const tensor::Type& type);
  int result(Output of, std::string_view name = {});
  Output constant(const tensor::Tensor& value, std::string_view name = {});

  [[nodiscard]] WeightsWriter& weights() { return weights_; }
  [[nodiscard]] pugi::xml_node element(int layer) const {
    return elements_[static_cast<std::size_t>(layer)];
  }
  /// Declares the sizes of an output, or the names of its tensor.
  void describe(Output output, const tensor::Type& type);
  void name_tensor(Output output, std::span<const std::string> names);
  /// Whether the tensor of the output has a name.
  [[nodiscard]] bool is_named(Output output) const;

 private:
  [[nodiscard]] pugi::xml_node port(Output output) const;
  [[nodiscard]] std::string distinct(std::string_view name, std::string_view type);

  WeightsWriter& weights_;
  pugi::xml_node layers_, edges_;
  std::vector<pugi::xml_node> elements_;  ///< by id
  std::set<std::string, std::less<>> names_;
};

/// Returns a user's name as XML can hold it: bytes that are not valid text become '?'.
[[nodiscard]] std::string xml_text(std::string_view text);
/// "1,2,3".
[[nodiscard]] std::string list_text(std::span<const std::int64_t> values);
/// Returns the shortest text that reads back as the same number.
[[nodiscard]] std::string real_text(double value);

}  // namespace scanloom::exporters::openvino
