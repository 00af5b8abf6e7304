#include "plan/bind/values.h"

#include <algorithm>

#include "ir/walk.h"
#include "ops/ops.h"
#include "ops/shape/reshape_view.h"

namespace scanloom::plan {

ValueLocations::ValueLocations(const ir::Module& module, const ir::Inference& inference,
                               BindingBuilder& builder)
    : module_(module),
      inference_(inference),
      builder_(builder),
      last_uses_(module),
      locations_(module.value_count()),
      wanted_(module.value_count()),
      uses_(ir::count_uses(module)),
      has_own_storage_(module.value_count()),
      owned_(module.value_count()),
      updates_in_place_(module.value_count()),
      channels_last_(module.value_count()) {}

Location ValueLocations::at(ir::ValueId id) {
  Location& found = locations_[id.index];
  if (!found.spot.present())
    if (const tensor::Tensor* value = inference_.constant(id))
      found = builder_.new_constant(*value, is_of_plan(id), uses_[id.index]);
  return found;
}

bool ValueLocations::is_of_plan(ir::ValueId id) const {
  const ir::NodeId producer = module_.value(id).producer;
  return producer.valid() && module_.node(producer).op == &ir::constant_op;
}

std::vector<Location> ValueLocations::of_inputs(const ir::Node& node) {
  std::vector<Location> inputs;
  for (const ir::ValueId input : node.inputs)
    inputs.push_back(input.valid() ? at(input) : Location{});
  return inputs;
}

Location ValueLocations::result(ir::ValueId id) {
  account_for(id);
  if (updates_in_place_[id.index]) return at(module_.node(module_.value(id).producer).inputs[0]);
  if (wanted_[id.index]) return *wanted_[id.index];
  Location location = builder_.new_buffer(type(id).dtype, type(id).shape());
  location.spot.layout = result_layout(id);
  return location;
}

std::int32_t ValueLocations::result_layout(ir::ValueId id) {
  const tensor::Shape dims = type(id).shape();
  if (!channels_last_[id.index]) return builder_.contiguous_layout(dims);
  tensor::Shape strides = tensor::contiguous_strides(dims);
  strides[1] = 1;
  for (int axis = 2; axis < dims.rank(); ++axis) strides[axis] *= dims[1];
  return builder_.add_layout(dims, strides);
}

std::optional<Location> ValueLocations::unread_rows(const ir::Node& node, std::size_t output) {
  const ir::ValueId id = node.outputs[output];
  if (output != 0 || node.op->rows_axis == nullptr || uses_[id.index] != 0) return std::nullopt;
  const tensor::Shape dims = type(id).shape();
  const int axis = node.op->rows_axis(node.attrs);
  if (dims[axis] == 0) return std::nullopt;
  tensor::Shape row = dims;
  row[axis] = 1;
  tensor::Shape strides = tensor::contiguous_strides(row);
  strides[axis] = 0;
  Location location = builder_.new_buffer(type(id).dtype, row);
  location.spot.layout = builder_.add_layout(dims, strides);
  return location;
}

std::int64_t ValueLocations::account_for(ir::ValueId id) {
  const std::int64_t bytes = type(id).shape().elements() * bytes_of(type(id).dtype);
  const ir::NodeId producer = module_.value(id).producer;
  Binding& binding = builder_.binding();
  if (bytes > binding.largest_bytes && producer.valid()) {
    binding.largest = producer;
    binding.largest_bytes = bytes;
  }
  return bytes;
}

void ValueLocations::want(ir::RegionId region, ir::ValueId value, const Location& destination) {
  const ir::NodeId producer = module_.value(value).producer;
  if (!producer.valid() || wanted_[value.index] || inference_.is_constant(value)) return;
  const ir::Node& node = module_.node(producer);
  if (node.parent != region || !is_static(value) || is_object(value)) return;
  const Layout& layout = builder_.layout(destination.spot);
  if (!layout.contiguous || layout.dims != type(value).shape()) return;
  if (node.op == &ir::loop_op && module_.value(value).index < node.loop->carried) return;
  wanted_[value.index] = destination;
}

void ValueLocations::want_source(ir::RegionId region, ir::ValueId value, Location destination) {
  for (;;) {
    want(region, value, destination);
    const ir::NodeId producer = module_.value(value).producer;
    if (!producer.valid() || module_.node(producer).parent != region) return;
    if (module_.node(producer).op->view != ops::reshape_view) return;
    value = module_.node(producer).inputs[0];
    if (!is_static(value) || is_object(value)) return;
    destination.spot.layout = builder_.contiguous_layout(type(value).shape());
  }
}

/// An operand that is listed twice is not moved: another argument may share its spot.
bool ValueLocations::hands_over(ir::NodeId node, std::size_t operand) const {
  const std::vector<ir::ValueId>& inputs = module_.node(node).inputs;
  return last_uses_.of_operand(node, operand) && owned_[inputs[operand].index] &&
         std::ranges::count(inputs, inputs[operand]) == 1;
}

bool ValueLocations::hands_over_yield(ir::RegionId region, std::size_t yield) const {
  return last_uses_.of_yield(region, yield) && owned_[module_.region(region).yields[yield].index];
}

}  // namespace scanloom::plan
