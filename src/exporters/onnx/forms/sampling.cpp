// Forms of operators that sample at computed positions, resize, pick regions or generate random
// numbers.
#include <algorithm>
#include <bit>

#include "exporters/onnx/forms.h"
#include "exporters/onnx/model_writer.h"
#include "ir/constants.h"
#include "ir/node_attr.h"
#include "ops/ops.h"

namespace scanloom::exporters::onnx::forms {
namespace {

using tensor::Tensor;

/// One axis of a Resize: a resample node. Consecutive ones become one Resize.
struct ResizedAxis {
  const ir::Node* node;
  ir::ValueId size, scale, region;
};

constexpr std::size_t kSizes = 1, kScales = 2, kRegion = 3;

/// Whether both resize with the same settings except for the axis.
bool same_settings(const ir::Node& a, const ir::Node& b) {
  const auto axis = static_cast<std::size_t>(a.op->attr_index("axis"));
  for (std::size_t i = 0; i < a.attrs.size(); ++i)
    if (i != axis && !(a.attrs[i] == b.attrs[i])) return false;
  return ir::attr_of(a, "axis").integer() != ir::attr_of(b, "axis").integer();
}

const ir::Node* producer_of(const ir::Module& module, ir::ValueId value) {
  const ir::NodeId id = value.valid() ? module.value(value).producer : ir::NodeId();
  return id.valid() ? &module.node(id) : nullptr;
}

/// Returns the resample node whose result `node` resizes further, if nothing else reads that
/// result.
const ir::Node* resized_before(const ModelWriter& model, const ir::Node& node) {
  const ir::Node* const before = producer_of(model.module(), node.inputs[0]);
  if (before == nullptr || before->op != &ops::resample_op) return nullptr;
  if (model.uses(node.inputs[0]) != 1 || !same_settings(*before, node)) return nullptr;
  return before;
}

bool is_resized_again(const NodeEmitter& node) {
  const ModelWriter& model = node.model();
  if (model.uses(node.node().outputs[0]) != 1) return false;
  for (const ir::NodeId id : model.module().region(node.node().parent).nodes) {
    const ir::Node& reader = model.module().node(id);
    if (reader.op == &ops::resample_op && reader.inputs[0] == node.node().outputs[0])
      return resized_before(model, reader) != nullptr;
  }
  return false;
}

enum class Given : std::uint8_t { size, scale, neither };

/// Returns which of ONNX's two operands alone expresses both size and scale: an f32 scale whose
/// product with the old size, rounded down, is the new size; or a size whose quotient with the old
/// size is the scale.
Given given_by(const ModelWriter& model, const ResizedAxis& axis) {
  const ir::Module& module = model.module();
  const Tensor *const size = ir::constant_of(module, axis.size), *const scale = ir::constant_of(
                                                                     module, axis.scale);
  const tensor::Type& type = model.type(axis.node->inputs[0]);
  const std::int64_t at = ir::attr_of(*axis.node, "axis").integer();
  if (scale == nullptr) {
    const ir::Node* const producer = producer_of(module, axis.scale);
    if (producer == nullptr) return Given::neither;
    if (producer->op == &ops::div_op) return Given::size;
    return producer->op == &ops::cast_op ? Given::scale : Given::neither;
  }
  const double factor = scale->as<double>()[0];
  const bool is_f32 = static_cast<double>(static_cast<float>(factor)) == factor;
  const tensor::Dim old = type.ranked ? type.dims[static_cast<std::size_t>(at)] : tensor::Dim(-1);
  if (size == nullptr || !old.is_constant() || old.value() < 0)
    return is_f32 ? Given::scale : Given::neither;
  const auto wanted = tensor::to_integers(*size);
  const auto known = static_cast<double>(old.value());
  if (wanted && static_cast<double>(wanted->front()) / known == factor) return Given::size;
  const float product = static_cast<float>(known) * static_cast<float>(factor);
  return is_f32 && wanted && static_cast<std::int64_t>(product) == wanted->front() ? Given::scale
                                                                                   : Given::neither;
}

Attributes resize_attributes(const NodeEmitter& node, const std::vector<std::int64_t>& axes) {
  const std::string& mode = node.attr("mode").text();
  constexpr std::string_view kNearest = "nearest_";
  const bool is_nearest = mode.starts_with(kNearest);
  Attributes attributes{attribute("axes", axes),
                        attribute("mode", is_nearest ? std::string("nearest") : mode),
                        node.attribute_as("coordinates", "coordinate_transformation_mode")};
  if (is_nearest) attributes.push_back(attribute("nearest_mode", mode.substr(kNearest.size())));
  if (mode == "cubic") attributes.push_back(node.attribute_as("cubic_a", "cubic_coeff_a"));
  if (node.attr("antialias").integer() != 0)
    attributes.push_back(attribute("antialias", std::int64_t{1}));
  if (node.attr("exclude_outside").integer() != 0)
    attributes.push_back(attribute("exclude_outside", std::int64_t{1}));
  if (node.attr("coordinates").text() == "tf_crop_and_resize")
    attributes.push_back(node.attribute_as("extrapolation", "extrapolation_value"));
  return attributes;
}

/// Returns the operand `roi`: all beginnings, then all ends.
std::string regions(NodeEmitter& node, const std::vector<ResizedAxis>& axes) {
  Names begins, ends;
  for (const ResizedAxis& axis : axes) {
    const std::string region = node.cast(node.model().name(axis.region), DType::f32);
    begins.push_back(node.op("Slice", {region, node.list({0}), node.list({1})}));
    ends.push_back(node.op("Slice", {region, node.list({1}), node.list({2})}));
  }
  begins.insert(begins.end(), ends.begin(), ends.end());
  return node.join(begins);
}

}  // namespace

void grid_sample(NodeEmitter& node) {
  // Version 20 supports more than two axes and names the modes differently.
  const tensor::Type& x = node.in_type(0);
  const std::string& mode = node.attr("mode").text();
  if (mode != "nearest" || !x.ranked || x.rank() != 4) node.need_opset(20);
  node.finish("GridSample", {attribute("mode", mode), node.attribute_as("padding", "padding_mode"),
                             node.attribute_as("align_corners", "align_corners")});
}

void max_roi_pool(NodeEmitter& node) {
  const std::vector<std::int64_t> cells{node.attr("height").integer(),
                                        node.attr("width").integer()};
  node.finish("MaxRoiPool", {attribute("pooled_shape", cells),
                             node.attribute_as("spatial_scale", "spatial_scale")});
}

/// ONNX accepts only f32.
void non_max_suppression(NodeEmitter& node) {
  if (node.is_read(1)) return node.refuse("whose counts per box are read");
  for (const std::size_t i : {0, 1, 3, 4})
    if (node.has(i) && node.dtype(i) != DType::f32)
      node.set_in(i, node.cast(node.in(i), DType::f32));
  node.emit("NonMaxSuppression", node.inputs(), {node.out()},
            {node.attribute_as("center_point_box", "center_point_box")});
}

/// Written as a random tensor like one with that shape. A 32-bit seed holds the bits of the seed
/// attribute.
void random(NodeEmitter& node) {
  const DType to = node.attr("to").dtype();
  const auto zero = Tensor::zeros(DType::f32, {1});
  if (!zero) return node.refuse();
  const std::string shaped = node.op("ConstantOfShape", {node.in(0)}, {attribute("value", *zero)});
  Attributes attributes{attribute("dtype", std::int64_t{dtype_onnx_number(to)})};
  if (node.attr("stream").integer() == 0)
    attributes.push_back(attribute(
        "seed",
        double{std::bit_cast<float>(static_cast<std::int32_t>(node.attr("seed").integer()))}));
  const bool is_normal = node.attr("kind").text() == "normal";
  node.emit(is_normal ? "RandomNormalLike" : "RandomUniformLike", {shaped}, node.outputs(),
            attributes);
}

void resample(NodeEmitter& node) {
  if (is_resized_again(node)) return;
  const ModelWriter& model = node.model();
  std::vector<ResizedAxis> axes;
  const ir::Node* first = &node.node();
  for (const ir::Node* each = first; each != nullptr; each = resized_before(model, *each)) {
    first = each;
    const auto operand = [&](std::size_t i) {
      return i < each->inputs.size() ? each->inputs[i] : ir::ValueId();
    };
    axes.insert(axes.begin(), {each, operand(kSizes), operand(kScales), operand(kRegion)});
  }
  const Given given = given_by(model, axes.front());
  std::vector<std::int64_t> numbers;
  Names operands;
  for (const ResizedAxis& axis : axes) {
    const Given own = given_by(model, axis);
    if (own == Given::neither || own != given)
      return node.refuse("by factors that its sizes do not follow from");
    numbers.push_back(ir::attr_of(*axis.node, "axis").integer());
    operands.push_back(
        node.one_element_list(node.model().name(own == Given::size ? axis.size : axis.scale)));
  }
  const DType wanted = given == Given::size ? DType::i64 : DType::f32;
  for (std::string& operand : operands) operand = node.cast(operand, wanted);
  const std::string list = operands.size() == 1 ? operands[0] : node.join(operands);
  const bool has_regions = axes.front().region.valid();
  Names inputs{node.model().name(first->inputs[0]), has_regions ? regions(node, axes) : ""};
  if (given == Given::size) inputs.emplace_back();
  inputs.push_back(list);
  if (node.attr("coordinates").text() == "half_pixel_symmetric") node.need_opset(19);
  node.emit("Resize", inputs, node.outputs(), resize_attributes(node, numbers));
}

void roi_align(NodeEmitter& node) {
  const std::string& mode = node.attr("mode").text();
  if (mode != "avg" && mode != "max") return node.refuse("with mode " + mode);
  const std::string corners =
      node.attr("half_pixel").integer() != 0 ? "half_pixel" : "output_half_pixel";
  node.finish("RoiAlign", {node.attribute_as("height", "output_height"),
                           node.attribute_as("width", "output_width"), attribute("mode", mode),
                           node.attribute_as("sampling_ratio", "sampling_ratio"),
                           node.attribute_as("spatial_scale", "spatial_scale"),
                           attribute("coordinate_transformation_mode", corners)});
}

}  // namespace scanloom::exporters::onnx::forms
