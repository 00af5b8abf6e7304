#include "frontends/openvino/body.h"

#include "base/utf8.h"
#include "frontends/openvino/wide_sizes.h"

namespace scanloom::openvino {

using ir::ValueId;

namespace {

ir::RegionId region_of(ir::Module& module, ir::NodeId owner, const Layer& layer) {
  const ir::RegionId region = module.add_region(owner, to_valid_utf8(layer.name));
  module.node(owner).regions.push_back(region);
  return region;
}

}  // namespace

Body::Body(LayerCtx& ctx, const BodyPart& part, ir::NodeId owner)
    : reading_(ctx.reading()),
      part_(part),
      region_(region_of(ctx.module(), owner, ctx.layer())),
      builder_(ctx.module(), region_),
      reader_(ctx.reading(), part.graph, builder_,
              fmt::format("in the {} of {}", part.role, describe(ctx.layer())),
              ctx.site().depth + 1) {}

Expected<const Layer*> Body::layer_of(const std::string& entry, std::int64_t id,
                                      std::string_view type) const {
  const Layer* const layer = reader_.find(id);
  if (layer != nullptr && is_type(*layer, type)) return layer;
  return invalid_model("{}: layer {} is not a {} of the {}", entry, id, type, part_.role);
}

Expected<const Layer*> Body::parameter(const std::string& entry, std::int64_t id) const {
  return layer_of(entry, id, "Parameter");
}

Expected<const Layer*> Body::result_layer(const std::string& entry, std::int64_t id) const {
  return layer_of(entry, id, "Result");
}

Expected<void> Body::add_argument(const Layer& parameter, tensor::Type type) {
  return bind(parameter, Binding::of(reading_.module.add_argument(region_, std::move(type),
                                                                  to_valid_utf8(parameter.name))));
}

Expected<void> Body::bind(const Layer& parameter, Binding binding) {
  const Expected<DeclaredType> found = declared_type(reading_, parameter);
  if (!found) return Error(found.error()).at(describe(parameter));
  const DeclaredType& declared = *found;
  const DType given = binding.constant != nullptr ? binding.constant->dtype()
                                                  : reading_.module.value(binding.value).type.dtype;
  if (declared.has_dtype && declared.type.dtype != given)
    return invalid_model("{} of the {} declares {}, but port_map gives it {}", describe(parameter),
                         part_.role, dtype_name(declared.type.dtype), dtype_name(given));
  reader_.bind_parameter(parameter, std::move(binding));
  return {};
}

Expected<ValueId> Body::add_captured(ir::Builder& outer, ValueId value, std::string name) {
  ir::Module& module = reading_.module;
  const ValueId captured = widest(outer, value);
  const ValueId argument =
      module.add_argument(region_, module.value(captured).type, std::move(name));
  builder_.learn(argument, outer.known(captured));
  if (captured == value) return argument;
  return builder_.op(ops::cast_op, {argument}, {{"to", module.value(value).type.dtype}});
}

Expected<ValueId> Body::result_value(const Layer& layer) {
  Binding binding = reader_.result(layer);
  if (binding.is_absent()) return invalid_model("no edge leads to {}", describe(layer));
  return binding.materialise(builder_);
}

}  // namespace scanloom::openvino
