#include "frontends/openvino/document.h"

#include <pugixml.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/ascii.h"
#include "base/utf8.h"

namespace scanloom::openvino {
namespace {

using pugi::xml_node;

constexpr std::int64_t kOldestVersion = 10, kNewestVersion = 11;
/// Of a name or an attribute in messages.
constexpr std::size_t kShownBytes = 200;

std::string shown(std::string_view text) { return shortened(to_valid_utf8(text), kShownBytes); }

Expected<std::int64_t> integer_of(std::string_view text, std::string_view what) {
  const std::string_view digits = trimmed(text);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range)
    return invalid_model("{} is {}, which needs more than 64 bits", what, shown(digits));
  if (error != std::errc() || end != digits.data() + digits.size() || digits.empty())
    return invalid_model("{} is '{}', an integer is needed", what, shown(text));
  return value;
}

/// Which element it is, as far as its attributes tell.
std::string described(const xml_node& node) {
  const auto text = [&](const char* name) { return shown(node.attribute(name).value()); };
  if (std::strcmp(node.name(), "layer") == 0)
    return fmt::format("layer '{}' ({})", text("name"), text("type"));
  if (std::strcmp(node.name(), "edge") == 0)
    return fmt::format("the edge from layer '{}' to layer '{}'", text("from-layer"),
                       text("to-layer"));
  return node.name();
}

/// The attribute as an integer; nullopt when it is absent.
Expected<std::optional<std::int64_t>> optional_integer(const xml_node& node, const char* name) {
  const pugi::xml_attribute attribute = node.attribute(name);
  if (!attribute) return std::optional<std::int64_t>();
  SCANLOOM_TRY(
      const std::int64_t value,
      integer_of(attribute.value(), fmt::format("{}: attribute '{}'", described(node), name)));
  return std::optional<std::int64_t>(value);
}

Expected<std::int64_t> required_integer(const xml_node& node, const char* name) {
  SCANLOOM_TRY(const auto value, optional_integer(node, name));
  if (!value) return invalid_model("{}: attribute '{}' is missing", described(node), name);
  return *value;
}

/// Names that commas separate; a comma in a name follows a backslash.
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

class Parser {
 public:
  explicit Parser(Document& document) : document_(document) {}

  /// The graph in `layers` and `edges` below `node`. Recurses over bodies, at most kMaxBodyDepth.
  Expected<GraphIndex> graph(const xml_node& node, int depth) {
    if (depth > kMaxBodyDepth)
      return invalid_model("bodies are nested deeper than {}", kMaxBodyDepth);
    const auto index = static_cast<GraphIndex>(document_.graphs.size());
    document_.graphs.emplace_back();
    const xml_node layers = node.child("layers");
    if (!layers) return invalid_model("element '{}' has no 'layers'", node.name());
    Graph graph;
    for (const xml_node& child : layers.children("layer")) {
      SCANLOOM_TRY(Layer made, layer(child, depth));
      graph.layers.push_back(std::move(made));
    }
    for (const xml_node& child : node.child("edges").children("edge")) {
      SCANLOOM_TRY(const Edge made, edge(child));
      graph.edges.push_back(made);
    }
    document_.graphs[index] = std::move(graph);
    return index;
  }

 private:
  Expected<Layer> layer(const xml_node& node, int depth) {
    Layer layer;
    SCANLOOM_TRY(layer.id, required_integer(node, "id"));
    layer.name = node.attribute("name").value();
    layer.type = node.attribute("type").value();
    layer.opset = node.attribute("version").value();
    if (layer.type.empty()) return invalid_model("layer {} has no attribute 'type'", layer.id);
    for (const pugi::xml_attribute& attribute : node.child("data").attributes())
      layer.data.emplace_back(attribute.name(), attribute.value());
    Expected<void> parts = fill(layer, node, depth);
    if (!parts) {
      // What is wrong in a body names its own layer.
      return std::move(parts).error().at(describe(layer));
    }
    return layer;
  }

  Expected<void> fill(Layer& layer, const xml_node& node, int depth) {
    SCANLOOM_TRY(layer.inputs, ports(node.child("input")));
    SCANLOOM_TRY(layer.outputs, ports(node.child("output")));
    for (const xml_node& edge : node.child("back_edges").children("edge")) {
      BackEdge back;
      SCANLOOM_TRY(back.from_layer, required_integer(edge, "from-layer"));
      SCANLOOM_TRY(back.to_layer, required_integer(edge, "to-layer"));
      layer.back_edges.push_back(back);
    }
    const std::pair<const char*, const char*> parts[] = {
        {"body", "port_map"}, {"then_body", "then_port_map"}, {"else_body", "else_port_map"}};
    for (const auto& [role, map] : parts) {
      const xml_node body = node.child(role);
      if (!body) continue;
      BodyPart part;
      part.role = role;
      SCANLOOM_TRY(part.graph, graph(body, depth + 1));
      SCANLOOM_TRY(part.inputs, entries(node.child(map), "input"));
      SCANLOOM_TRY(part.outputs, entries(node.child(map), "output"));
      layer.bodies.push_back(std::move(part));
    }
    return {};
  }

  static Expected<std::vector<Port>> ports(const xml_node& node) {
    std::vector<Port> ports;
    for (const xml_node& child : node.children("port")) {
      Port port;
      SCANLOOM_TRY(port.id, required_integer(child, "id"));
      port.precision = child.attribute("precision").value();
      port.names = names_of(child.attribute("names").value());
      for (const xml_node& dim : child.children("dim")) {
        SCANLOOM_TRY(const std::int64_t size,
                     integer_of(dim.child_value(), fmt::format("a dim of port {}", port.id)));
        if (size < -1) return invalid_model("a dim of port {} is {}", port.id, size);
        port.dims.push_back(size);
      }
      ports.push_back(std::move(port));
    }
    return ports;
  }

  static Expected<std::vector<PortEntry>> entries(const xml_node& map, const char* kind) {
    std::vector<PortEntry> entries;
    for (const xml_node& child : map.children(kind)) {
      PortEntry entry;
      SCANLOOM_TRY(entry.external_port, required_integer(child, "external_port_id"));
      SCANLOOM_TRY(entry.internal_layer, required_integer(child, "internal_layer_id"));
      SCANLOOM_TRY(entry.axis, optional_integer(child, "axis"));
      const std::pair<const char*, std::int64_t*> numbers[] = {{"start", &entry.start},
                                                               {"end", &entry.end},
                                                               {"stride", &entry.stride},
                                                               {"part_size", &entry.part_size}};
      for (const auto& [name, to] : numbers) {
        SCANLOOM_TRY(const auto given, optional_integer(child, name));
        if (given) *to = *given;
      }
      entry.purpose = child.attribute("purpose").value();
      entries.push_back(std::move(entry));
    }
    return entries;
  }

  static Expected<Edge> edge(const xml_node& node) {
    Edge edge;
    SCANLOOM_TRY(edge.from_layer, required_integer(node, "from-layer"));
    SCANLOOM_TRY(edge.to_layer, required_integer(node, "to-layer"));
    SCANLOOM_TRY(edge.from_port, optional_integer(node, "from-port"));
    SCANLOOM_TRY(edge.to_port, required_integer(node, "to-port"));
    return edge;
  }

  Document& document_;
};

}  // namespace

bool looks_like_xml(std::string_view bytes) {
  if (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);
  bytes = trimmed(bytes.substr(0, 512));
  return bytes.starts_with("<");
}

std::string describe(const Layer& layer) {
  if (layer.name.empty()) return fmt::format("layer {} ({})", layer.id, shown(layer.type));
  return fmt::format("layer {} '{}' ({})", layer.id, shown(layer.name), shown(layer.type));
}

Expected<Document> parse_document(std::string_view bytes) {
  pugi::xml_document xml;
  // Entities that a document defines are never expanded; a definition of them is refused.
  const pugi::xml_parse_result parsed = xml.load_buffer(
      bytes.data(), bytes.size(), pugi::parse_default | pugi::parse_doctype, pugi::encoding_utf8);
  if (!parsed) {
    if (parsed.status == pugi::status_out_of_memory)
      return fail(Code::out_of_memory, "the XML of {} bytes does not fit into memory",
                  bytes.size());
    const std::size_t at = std::min(static_cast<std::size_t>(parsed.offset), bytes.size());
    return invalid_model("the XML cannot be read: {} at byte {} of its {}{}", parsed.description(),
                         at, bytes.size(),
                         trimmed(bytes).ends_with("</net>")
                             ? ""
                             : "; it seems to be cut off, for it does not end with '</net>'");
  }
  for (const xml_node& child : xml.children())
    if (child.type() == pugi::node_doctype)
      return invalid_model("the XML has a document type declaration, which no IR has");
  const xml_node net = xml.document_element();
  if (std::strcmp(net.name(), "net") != 0)
    return invalid_model("the XML holds '{}', no 'net': it is no IR of OpenVINO",
                         shown(net.name()));
  Document document;
  document.name = net.attribute("name").value();
  SCANLOOM_TRY(document.version, required_integer(net, "version"));
  if (document.version < kOldestVersion || document.version > kNewestVersion)
    return fail(Code::unsupported,
                "the IR has version {}, versions {} and {} can be read (a newer release of "
                "OpenVINO writes version {})",
                document.version, kOldestVersion, kNewestVersion, kNewestVersion);
  SCANLOOM_CHECK_OK(Parser(document).graph(net, 0));
  return document;
}

}  // namespace scanloom::openvino
