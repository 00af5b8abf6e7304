#include "exporters/openvino/region_writer.h"

#include "exporters/openvino/element_types.h"
#include "exporters/openvino/forms.h"

namespace scanloom::exporters::openvino {

namespace {

/// Returns why an IR cannot hold the type; empty if it can.
std::string reason_against(const tensor::Type& type) {
  if (!type.is_tensor()) return "sequences and optionals have no form in an IR";
  if (element_type(type.dtype).empty())
    return fmt::format("element type {} has no form in an IR", dtype_name(type.dtype));
  return {};
}

}  // namespace

void RegionWriter::nodes(ir::RegionId region) {
  for (const ir::NodeId id : writing_.module.region(region).nodes) node(id);
}

void RegionWriter::node(ir::NodeId id) {
  const ir::Node& node = writing_.module.node(id);
  NodeWriter out(writing_, graph_, outputs_, id);
  for (const ir::ValueId result : node.outputs)
    if (const std::string reason = reason_against(writing_.module.value(result).type);
        !reason.empty())
      return out.refuse(reason);
  if (node.loop) return write_loop(writing_, out);
  if (node.op == &ir::branch_op) return write_branch(writing_, out);
  if (node.op == &ir::constant_op) return out.set(graph_.constant(node.attrs[0].tensor()));
  const Form* const form = find_form(*node.op);
  if (form == nullptr) return out.refuse(fmt::format("{} has no form in an IR", node.op->name));
  if (!form->reason.empty()) return out.refuse(form->reason);
  if (form->write == nullptr)
    return out.set(out.layer(form->layer, form->opset, out.all_inputs(), out.result_type().dtype));
  form->write(out);
}

}  // namespace scanloom::exporters::openvino
