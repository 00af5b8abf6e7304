#include "report/graph.h"

#include <algorithm>
#include <vector>

#include "ir/op_def.h"
#include "ir/port_names.h"
#include "ir/size_names.h"
#include "ir/text.h"
#include "ir/walk.h"

namespace scanloom::report {
namespace {

constexpr std::size_t kMaxShownElements = 8;

template <class Ids>
Json numbers(const Ids& ids) {
  Json list = Json::array();
  for (const auto id : ids) list.push_back(id.valid() ? Json(id.index) : Json(-1));
  return list;
}

template <class List, class Text>
std::string listed(const List& list, const Text& text) {
  std::string all;
  for (std::size_t i = 0; i < list.size() && i < kMaxShownElements; ++i)
    all += (i == 0 ? "" : ", ") + text(list[i]);
  return all + (list.size() > kMaxShownElements ? ", ..." : "");
}

std::string attribute_text(const ir::Module& module, const ir::Attr& attr) {
  switch (attr.kind()) {
    case tensor::AttrKind::none:
      return {};
    case tensor::AttrKind::integer:
      return std::to_string(attr.integer());
    case tensor::AttrKind::real:
      return fmt::format("{:g}", attr.real());
    case tensor::AttrKind::text:
      return shown(attr.text());
    case tensor::AttrKind::integers:
      return listed(attr.integers(), [](std::int64_t each) { return std::to_string(each); });
    case tensor::AttrKind::floats:
      return listed(attr.floats(), [](double each) { return fmt::format("{:g}", each); });
    case tensor::AttrKind::tensor:
      return tensor::to_string(tensor::Type::of(attr.tensor().dtype(), attr.tensor().shape()),
                               module.dims);
    case tensor::AttrKind::dtype:
      return std::string(dtype_name(attr.dtype()));
  }
  return {};
}

Json attributes(const ir::Module& module, const ir::Node& node) {
  Json list = Json::array();
  for (std::size_t i = 0; i < node.attrs.size() && i < node.op->attrs.size(); ++i)
    if (node.attrs[i].present())
      list.push_back({node.op->attrs[i].name, attribute_text(module, node.attrs[i])});
  return list;
}

std::string steps_of(const ir::ScannedPort& port) {
  return fmt::format("along axis {}{}", port.axis, port.stride < 0 ? ", backwards" : "");
}

/// Returns the ports in the order of the loop's operands and then of its results. `value` is
/// outside of the loop, `inside` is an argument of the body, `next` is yielded by the body.
Json ports(const ir::Module& module, ir::NodeId id) {
  const ir::Node& node = module.node(id);
  const ir::LoopPorts& loop = *node.loop;
  const ir::Region& body = module.region(node.regions[0]);
  Json list = Json::array();
  const auto add = [&](const char* kind, std::string name, ir::ValueId outer, ir::ValueId inside,
                       ir::ValueId next, ir::ValueId result, std::string how = {}) {
    Json port{{"kind", kind}, {"name", shown(name)}};
    if (!how.empty()) port["how"] = std::move(how);
    if (outer.valid()) port["value"] = outer.index;
    if (inside.valid()) port["inside"] = inside.index;
    if (next.valid()) port["next"] = next.index;
    if (result.valid()) port["result"] = result.index;
    list.push_back(std::move(port));
  };
  if (loop.has_trip_count) add("trip count", "trip count", node.inputs[0], {}, {}, {});
  if (loop.has_condition)
    add("condition", "condition", node.inputs[std::size_t{loop.has_trip_count}], {}, {}, {});
  if (loop.has_keep_going) add("keep going", "keep going", {}, {}, body.yields[0], {});
  for (std::uint32_t i = 0; i < loop.captured; ++i)
    add("captured", module.describe(body.args[i]), node.inputs[loop.first_captured_input() + i],
        body.args[i], {}, {});
  for (std::uint32_t i = 0; i < loop.carried; ++i)
    add("carried", ir::describe_carried(module, id, i), node.inputs[loop.first_carried_input() + i],
        body.args[loop.captured + i], body.yields[loop.first_carried_yield() + i], node.outputs[i]);
  for (std::uint32_t i = 0; i < loop.scanned.size(); ++i)
    add("scanned", ir::describe_scanned(module, id, i), node.inputs[loop.first_scanned_input() + i],
        body.args[loop.captured + loop.carried + i], {}, {}, steps_of(loop.scanned[i]));
  for (std::uint32_t i = 0; i < loop.stacked.size(); ++i)
    add("stacked", ir::describe_stacked(module, id, i), {}, {},
        body.yields[loop.first_stacked_yield() + i], node.outputs[loop.carried + i],
        fmt::format("along axis {}{}", loop.stacked[i].axis,
                    loop.stacked[i].reverse ? ", backwards" : ""));
  return list;
}

Json node_of(const ir::Module& module, ir::NodeId id) {
  const ir::Node& node = module.node(id);
  Json json{{"id", id.index}, {"op", node.op->name}};
  if (const int kind = node.op->attr_index("kind"); kind >= 0)
    json["kind"] = node.attrs[static_cast<std::size_t>(kind)].text();
  json["name"] = shown(module.describe(id));
  json["in"] = numbers(node.inputs);
  json["out"] = numbers(node.outputs);
  if (!node.regions.empty()) json["regions"] = numbers(node.regions);
  if (node.loop) json["ports"] = ports(module, id);
  if (Json list = attributes(module, node); !list.empty()) json["attributes"] = std::move(list);
  return json;
}

Json value_of(const ir::Module& module, const ir::SizeNames& sizes, ir::ValueId id) {
  const ir::Value& value = module.value(id);
  Json json{{"id", id.index},
            {"name", shown(value.name)},
            {"type", sizes.in(tensor::to_string(value.type, module.dims))}};
  if (value.type.is_static() && value.type.dtype != DType::string)
    json["bytes"] =
        value.type.shape().elements() * static_cast<std::int64_t>(dtype_bytes(value.type.dtype));
  return json;
}

}  // namespace

Json graph(const ir::Module& module) {
  const ir::SizeNames sizes(module);
  Json regions = Json::array(), nodes = Json::array(), values = Json::array();
  std::vector<bool> is_known(module.value_count());
  const auto add_values = [&](const std::vector<ir::ValueId>& ids) {
    for (const ir::ValueId id : ids) {
      if (!id.valid() || is_known[id.index]) continue;
      is_known[id.index] = true;
      values.push_back(value_of(module, sizes, id));
    }
  };
  for (const ir::RegionId id : ir::regions_outer_first(module, module.top())) {
    const ir::Region& region = module.region(id);
    Json json{{"id", id.index}, {"name", shown(region.name)}};
    if (region.owner.valid()) {
      const ir::Node& owner = module.node(region.owner);
      const auto at = std::ranges::find(owner.regions, id) - owner.regions.begin();
      json["owner"] = region.owner.index;
      json["label"] = ir::text::region_label(owner.op, static_cast<std::size_t>(at));
    }
    json["args"] = numbers(region.args);
    json["nodes"] = numbers(region.nodes);
    json["yields"] = numbers(region.yields);
    regions.push_back(std::move(json));
    add_values(region.args);
    for (const ir::NodeId node : region.nodes) {
      nodes.push_back(node_of(module, node));
      add_values(module.node(node).outputs);
    }
  }
  return {
      {"regions", std::move(regions)}, {"nodes", std::move(nodes)}, {"values", std::move(values)}};
}

}  // namespace scanloom::report
