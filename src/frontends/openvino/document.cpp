#include "frontends/openvino/document.h"

#include <pugixml.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/ascii.h"
#include "base/utf8.h"
#include "frontends/openvino/types.h"
#include "frontends/openvino/xml_position.h"

namespace scanloom::openvino {
namespace {

using pugi::xml_node;

constexpr std::int64_t kOldestVersion = 10, kNewestVersion = 11;
/// Limit on the bytes of a name or attribute shown in a message.
constexpr std::size_t kShownBytes = 200;

std::string shown(std::string_view text) { return shortened(to_valid_utf8(text), kShownBytes); }

/// Describes the element by its attributes.
std::string described(const xml_node& node) {
  const auto text = [&](const char* name) { return shown(node.attribute(name).value()); };
  if (std::strcmp(node.name(), "layer") == 0)
    return node.attribute("name") ? fmt::format("layer '{}' ({})", text("name"), text("type"))
                                  : fmt::format("layer {} ({})", text("id"), text("type"));
  if (std::strcmp(node.name(), "edge") == 0)
    return fmt::format("the edge from layer '{}' to layer '{}'", text("from-layer"),
                       text("to-layer"));
  return node.name();
}

/// Splits names separated by commas. A comma in a name is escaped with a backslash.
std::vector<std::string> names_of(std::string_view text) {
  std::vector<std::string> names;
  std::string name;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == ',') {
      name += text[++i];
    } else if (text[i] == ',') {
      names.push_back(std::move(name));
      name.clear();
    } else {
      name += text[i];
    }
  }
  if (!name.empty()) names.push_back(std::move(name));
  return names;
}

/// Continues after an error with what can be read, so that all errors are reported at once.
class Parser {
 public:
  Parser(Document& document, XmlText& text, Diagnostics& diagnostics)
      : document_(document), text_(text), diagnostics_(diagnostics) {}

  void net(const xml_node& node) {
    document_.name = node.attribute("name").value();
    const std::size_t errors = diagnostics_.error_count();
    document_.version = required_integer(node, "version");
    if (diagnostics_.error_count() == errors &&
        (document_.version < kOldestVersion || document_.version > kNewestVersion))
      report(node, fail(Code::unsupported,
                        "the IR has version {}, but only versions {} and {} are supported (newer "
                        "releases of OpenVINO write version {})",
                        document_.version, kOldestVersion, kNewestVersion, kNewestVersion));
    graph(node, 0);
  }

 private:
  /// Reads the graph in `layers` and `edges` below `node`. Recurses over bodies, at most
  /// kMaxBodyDepth.
  GraphIndex graph(const xml_node& node, int depth) {
    const auto index = static_cast<GraphIndex>(document_.graphs.size());
    document_.graphs.emplace_back();
    if (depth > kMaxBodyDepth) {
      report(node, invalid_model("bodies are nested deeper than {}", kMaxBodyDepth));
      return index;
    }
    const xml_node layers = node.child("layers");
    if (!layers) report(node, invalid_model("element '{}' has no 'layers'", node.name()));
    Graph graph;
    for (const xml_node& child : layers.children("layer"))
      graph.layers.push_back(layer(child, depth));
    for (const xml_node& child : node.child("edges").children("edge"))
      graph.edges.push_back(edge(child));
    document_.graphs[index] = std::move(graph);
    return index;
  }

  Layer layer(const xml_node& node, int depth) {
    Layer layer;
    layer.id = required_integer(node, "id");
    layer.type = node.attribute("type").value();
    if (layer.type.empty())
      report(node, invalid_model("layer {} has no attribute 'type'", layer.id));
    layer.name = required_text(node, "name");
    layer.opset = required_text(node, "version");
    for (const pugi::xml_attribute& attribute : node.child("data").attributes())
      layer.data.emplace_back(attribute.name(), attribute.value());
    // Errors inside a body name the body's own layer.
    locations_.push_back(describe(layer));
    fill(layer, node, depth);
    locations_.pop_back();
    check_parameter(layer, node);
    return layer;
  }

  /// As in OpenVINO, either attribute may be missing. All of <data> may be missing if the port
  /// gives both, as in the example of TensorIterator-1.
  void check_parameter(const Layer& layer, const xml_node& node) {
    if (!is_type(layer, "Parameter") || node.child("data")) return;
    if (layer.outputs.size() == 1 && !layer.outputs[0].dims.empty() &&
        !is_dynamic_type(layer.outputs[0].precision))
      return;
    report(node, invalid_model("{}: it has no <data> with the attributes 'element_type' and "
                               "'shape', and its port has no sizes either",
                               described(node)));
  }

  void fill(Layer& layer, const xml_node& node, int depth) {
    layer.inputs = ports(node.child("input"), false);
    layer.outputs = ports(node.child("output"), true);
    for (const xml_node& edge : node.child("back_edges").children("edge"))
      layer.back_edges.push_back(
          {required_integer(edge, "from-layer"), required_integer(edge, "to-layer")});
    const std::pair<const char*, const char*> parts[] = {
        {"body", "port_map"}, {"then_body", "then_port_map"}, {"else_body", "else_port_map"}};
    for (const auto& [role, map] : parts) {
      const xml_node body = node.child(role);
      if (!body) continue;
      BodyPart part;
      part.role = role;
      part.graph = graph(body, depth + 1);
      part.inputs = entries(node.child(map), "input");
      part.outputs = entries(node.child(map), "output");
      layer.bodies.push_back(std::move(part));
    }
  }

  std::vector<Port> ports(const xml_node& node, bool are_outputs) {
    std::vector<Port> ports;
    for (const xml_node& child : node.children("port")) {
      Port port;
      port.id = required_integer(child, "id");
      port.precision = child.attribute("precision").value();
      if (are_outputs) check_precision(child, port);
      port.names = names_of(child.attribute("names").value());
      for (const xml_node& dim : child.children("dim")) {
        const std::int64_t size = integer(dim, dim.child_value(),
                                          [&] { return fmt::format("a dim of port {}", port.id); });
        if (size < -1) report(dim, invalid_model("a dim of port {} is {}", port.id, size));
        port.dims.push_back(size);
      }
      ports.push_back(std::move(port));
    }
    return ports;
  }

  void check_precision(const xml_node& node, const Port& port) {
    if (port.precision.empty())
      report(node, invalid_model("output port {} has no attribute 'precision'", port.id));
    else if (!is_dynamic_type(port.precision) && !dtype_of(port.precision))
      report(node, invalid_model("output port {} has precision '{}', which is not an element type: "
                                 "write one such as FP32 or I64, or UNSPECIFIED",
                                 port.id, shown(port.precision)));
  }

  std::vector<PortEntry> entries(const xml_node& map, const char* kind) {
    std::vector<PortEntry> entries;
    for (const xml_node& child : map.children(kind)) {
      PortEntry entry;
      entry.external_port = required_integer(child, "external_port_id");
      entry.internal_layer = required_integer(child, "internal_layer_id");
      entry.axis = optional_integer(child, "axis");
      entry.start = optional_integer(child, "start").value_or(entry.start);
      entry.end = optional_integer(child, "end").value_or(entry.end);
      entry.stride = optional_integer(child, "stride").value_or(entry.stride);
      const std::optional<std::int64_t> part = optional_integer(child, "part_size");
      entry.says_part_size = part.has_value();
      entry.part_size = part.value_or(entry.part_size);
      entry.purpose = child.attribute("purpose").value();
      entries.push_back(std::move(entry));
    }
    return entries;
  }

  Edge edge(const xml_node& node) {
    Edge edge;
    edge.from_layer = required_integer(node, "from-layer");
    edge.to_layer = required_integer(node, "to-layer");
    edge.from_port = required_integer(node, "from-port");
    edge.to_port = required_integer(node, "to-port");
    return edge;
  }

  /// Returns the number; 0 after an error. `what` names it in messages.
  template <class What>
  std::int64_t integer(const xml_node& node, std::string_view text, const What& what) {
    const std::string_view digits = trimmed(text);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc::result_out_of_range) {
      report(node, invalid_model("{} is {}, which needs more than 64 bits", what(), shown(digits)));
      return 0;
    }
    if (error != std::errc() || end != digits.data() + digits.size() || digits.empty()) {
      report(node, invalid_model("{} is '{}', but an integer is needed", what(), shown(text)));
      return 0;
    }
    return value;
  }

  /// Returns the attribute; nullopt if it is absent.
  std::optional<std::int64_t> optional_integer(const xml_node& node, const char* name) {
    const pugi::xml_attribute attribute = node.attribute(name);
    if (!attribute) return std::nullopt;
    return integer(node, attribute.value(),
                   [&] { return fmt::format("{}: attribute '{}'", described(node), name); });
  }

  std::int64_t required_integer(const xml_node& node, const char* name) {
    const std::optional<std::int64_t> value = optional_integer(node, name);
    if (!value) report(node, invalid_model("{}: attribute '{}' is missing", described(node), name));
    return value.value_or(0);
  }

  /// Returns the attribute, which may be empty but not absent.
  std::string required_text(const xml_node& node, const char* name) {
    const pugi::xml_attribute attribute = node.attribute(name);
    if (!attribute)
      report(node, invalid_model("{}: attribute '{}' is missing", described(node), name));
    return attribute.value();
  }

  void report(const xml_node& node, Error error) {
    for (auto location = locations_.rbegin(); location != locations_.rend(); ++location)
      error = std::move(error).at(*location);
    // offset_debug() is the position of the name, after '<'.
    const auto at = static_cast<std::size_t>(std::max<std::ptrdiff_t>(node.offset_debug(), 1) - 1);
    error.note(fmt::format("<{}> at {}", shown(node.name()), text_.position(at)));
    diagnostics_.error(std::move(error).at("openvino"));
  }

  Document& document_;
  XmlText& text_;
  Diagnostics& diagnostics_;
  std::vector<std::string> locations_;  // the layers around the current element
};

/// Returns why the bytes are not XML, and where the parser gave up.
Error no_xml(const pugi::xml_parse_result& parsed, std::string_view bytes, XmlText& text) {
  if (parsed.status == pugi::status_out_of_memory)
    return fail(Code::out_of_memory, "the XML of {} bytes does not fit into memory", bytes.size());
  const std::size_t at = std::min(static_cast<std::size_t>(parsed.offset), bytes.size());
  const std::string element = text.open_element(at);
  const bool is_whole = trimmed(bytes).ends_with("</net>");
  return invalid_model(
      "the XML cannot be read at {}{}: {} at byte {} of its {}{}", text.position(at),
      element.empty() ? "" : fmt::format(", in <{}>", shown(element)), parsed.description(), at,
      bytes.size(), is_whole ? "" : "; it seems to be truncated: it does not end with '</net>'");
}

}  // namespace

bool looks_like_xml(std::string_view bytes) {
  if (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);
  bytes = trimmed(bytes.substr(0, 512));
  return bytes.starts_with("<");
}

bool is_type(const Layer& layer, std::string_view type) {
  return equal_ignoring_case(layer.type, type);
}

bool is_null_node(const Layer& layer) { return is_type(layer, "NullNode"); }

std::string describe(const Layer& layer) {
  if (layer.name.empty()) return fmt::format("layer {} ({})", layer.id, shown(layer.type));
  return fmt::format("layer {} '{}' ({})", layer.id, shown(layer.name), shown(layer.type));
}

Expected<Document> parse_document(std::string_view bytes, Diagnostics& diagnostics) {
  pugi::xml_document xml;
  XmlText text(bytes);
  // Entities defined by the document are never expanded; a document type declaration is an error.
  const pugi::xml_parse_result parsed = xml.load_buffer(
      bytes.data(), bytes.size(), pugi::parse_default | pugi::parse_doctype, pugi::encoding_utf8);
  if (!parsed) return no_xml(parsed, bytes, text);
  for (const xml_node& child : xml.children())
    if (child.type() == pugi::node_doctype)
      return invalid_model("the XML has a document type declaration, which an IR never has");
  const xml_node net = xml.document_element();
  if (std::strcmp(net.name(), "net") != 0)
    return invalid_model("the XML holds '{}', not 'net': it is not an OpenVINO IR",
                         shown(net.name()));
  Document document;
  Parser(document, text, diagnostics).net(net);
  return document;
}

}  // namespace scanloom::openvino
