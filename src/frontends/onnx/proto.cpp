#include "frontends/onnx/proto.h"

#include "frontends/onnx/proto_parts.h"
#include "frontends/onnx/wire.h"

namespace scanloom::onnx {
namespace {

// Field numbers as in onnx.proto.

/// A body found in an attribute but not read yet.
struct PendingGraph {
  std::string_view bytes;
  GraphIndex index = 0;
};

class Parser {
 public:
  Expected<ModelProto> model(std::string_view bytes);

 private:
  Expected<GraphIndex> add_graph(std::string_view bytes, std::uint32_t depth);
  Expected<void> pending_graphs();
  Expected<void> graph(std::string_view bytes, GraphProto& graph);
  Expected<void> function(std::string_view bytes);
  Expected<NodeProto> node(std::string_view bytes, std::uint32_t depth);
  Expected<AttributeProto> attribute(std::string_view bytes, std::uint32_t depth);
  Expected<void> attribute_value(Wire& wire, AttributeProto& attribute, std::uint32_t depth);

  ModelProto model_;
  std::vector<PendingGraph> pending_;
};

Expected<void> check_opset_count(const std::vector<OpsetProto>& opsets) {
  if (opsets.size() <= kMaxOpsets) return {};
  return invalid_model("onnx: {} operator sets are imported, but at most {} are allowed",
                       opsets.size(), kMaxOpsets);
}

/// Returns the kind of attribute the field holds; undefined for fields that hold no value.
AttributeKind kind_of_field(std::uint32_t field) {
  switch (field) {
    case 2:
      return AttributeKind::real;
    case 3:
      return AttributeKind::integer;
    case 4:
      return AttributeKind::text;
    case 5:
      return AttributeKind::tensor;
    case 6:
      return AttributeKind::graph;
    case 7:
      return AttributeKind::floats;
    case 8:
      return AttributeKind::integers;
    case 9:
      return AttributeKind::texts;
    case 10:
      return AttributeKind::tensors;
    case 11:
      return AttributeKind::graphs;
    case 14:
      return AttributeKind::type;
    case 15:
      return AttributeKind::types;
    case 22:
      return AttributeKind::sparse_tensor;
    case 23:
      return AttributeKind::sparse_tensors;
    default:
      return AttributeKind::undefined;
  }
}

Expected<void> Parser::attribute_value(Wire& wire, AttributeProto& attribute, std::uint32_t depth) {
  switch (wire.field()) {
    case 2:
      attribute.real = wire.real();
      break;
    case 3:
      attribute.integer = wire.integer();
      break;
    case 4:
      attribute.text = wire.view();
      break;
    case 5:
    case 10: {
      SCANLOOM_TRY(TensorProto tensor, parse_tensor(wire.view()));
      attribute.tensors.push_back(std::move(tensor));
      break;
    }
    case 6:
    case 11: {
      SCANLOOM_TRY(const GraphIndex index, add_graph(wire.view(), depth + 1));
      attribute.graphs.push_back(index);
      break;
    }
    case 7:
      wire.append(attribute.floats);
      break;
    case 8:
      wire.append(attribute.integers);
      break;
    case 9:
      attribute.texts.push_back(wire.view());
      break;
    case 14:
    case 15: {
      SCANLOOM_TRY(TypeProto type, parse_type(wire.view()));
      attribute.types.push_back(std::move(type));
      break;
    }
    case 22:
    case 23: {
      SCANLOOM_TRY(SparseTensorProto sparse, parse_sparse_tensor(wire.view()));
      attribute.sparse.push_back(std::move(sparse));
      break;
    }
    default:
      wire.skip();
  }
  return {};
}

Expected<AttributeProto> Parser::attribute(std::string_view bytes, std::uint32_t depth) {
  AttributeProto attribute;
  Wire wire(bytes);
  while (wire.next()) {
    const AttributeKind kind = kind_of_field(wire.field());
    if (kind != AttributeKind::undefined) {
      attribute.present |= 1u << static_cast<unsigned>(kind);
      SCANLOOM_CHECK_OK(attribute_value(wire, attribute, depth));
      continue;
    }
    switch (wire.field()) {
      case 1:
        attribute.name = wire.view();
        break;
      case 20:
        attribute.declared = wire.integer();
        break;
      case 21:
        attribute.reference = wire.view();
        break;
      default:
        wire.skip();
    }
  }
  SCANLOOM_CHECK_OK(finished(wire, "AttributeProto"));
  return attribute;
}

Expected<NodeProto> Parser::node(std::string_view bytes, std::uint32_t depth) {
  NodeProto node;
  Wire wire(bytes);
  while (wire.next()) {
    switch (wire.field()) {
      case 1:
        node.inputs.push_back(wire.view());
        break;
      case 2:
        node.outputs.push_back(wire.view());
        break;
      case 3:
        node.name = wire.view();
        break;
      case 4:
        node.op_type = wire.view();
        break;
      case 5: {
        SCANLOOM_TRY(AttributeProto made, attribute(wire.view(), depth));
        node.attributes.push_back(std::move(made));
        break;
      }
      case 7:
        node.domain = wire.view();
        break;
      case 8:
        node.overload = wire.view();
        break;
      default:
        wire.skip();
    }
  }
  SCANLOOM_CHECK_OK(finished(wire, "NodeProto"));
  if (node.attributes.size() > kMaxAttributes)
    return invalid_model("onnx: a node has {} attributes, but at most {} are allowed",
                         node.attributes.size(), kMaxAttributes);
  return node;
}

Expected<void> Parser::graph(std::string_view bytes, GraphProto& graph) {
  Wire wire(bytes);
  while (wire.next()) {
    const std::uint32_t field = wire.field();
    switch (field) {
      case 1: {
        SCANLOOM_TRY(NodeProto made, node(wire.view(), graph.depth));
        graph.nodes.push_back(std::move(made));
        break;
      }
      case 2:
        graph.name = wire.view();
        break;
      case 5: {
        SCANLOOM_TRY(TensorProto tensor, parse_tensor(wire.view()));
        graph.initialisers.push_back(std::move(tensor));
        break;
      }
      case 10:
        graph.doc_string = wire.view();
        break;
      case 11:
      case 12:
      case 13: {
        SCANLOOM_TRY(ValueInfoProto info, parse_value_info(wire.view()));
        auto& list = field == 11 ? graph.inputs : field == 12 ? graph.outputs : graph.value_infos;
        list.push_back(std::move(info));
        break;
      }
      case 15: {
        SCANLOOM_TRY(SparseTensorProto sparse, parse_sparse_tensor(wire.view()));
        graph.sparse_initialisers.push_back(std::move(sparse));
        break;
      }
      default:
        wire.skip();
    }
  }
  return finished(wire, "GraphProto");
}

Expected<GraphIndex> Parser::add_graph(std::string_view bytes, std::uint32_t depth) {
  if (depth > kMaxDepth)
    return invalid_model("onnx: bodies are nested more than {} deep", kMaxDepth);
  const auto index = static_cast<GraphIndex>(model_.graphs.size());
  model_.graphs.emplace_back().depth = depth;
  pending_.push_back({bytes, index});
  return index;
}

Expected<void> Parser::pending_graphs() {
  while (!pending_.empty()) {
    const PendingGraph next = pending_.back();
    pending_.pop_back();
    // Built outside the list, which grows if the graph holds bodies.
    GraphProto made;
    made.depth = model_.graphs[next.index].depth;
    SCANLOOM_CHECK_OK(graph(next.bytes, made));
    model_.graphs[next.index] = std::move(made);
  }
  return {};
}

Expected<void> Parser::function(std::string_view bytes) {
  FunctionProto function;
  const auto index = static_cast<GraphIndex>(model_.graphs.size());
  model_.graphs.emplace_back();
  GraphProto body;
  function.body = index;
  Wire wire(bytes);
  while (wire.next()) {
    const std::uint32_t field = wire.field();
    switch (field) {
      case 1:
        function.name = wire.view();
        break;
      case 4:
        body.inputs.push_back({wire.view(), {}});
        break;
      case 5:
        body.outputs.push_back({wire.view(), {}});
        break;
      case 6:
        function.attributes.push_back(wire.view());
        break;
      case 7: {
        SCANLOOM_TRY(NodeProto made, node(wire.view(), 0));
        body.nodes.push_back(std::move(made));
        break;
      }
      case 9: {
        SCANLOOM_TRY(OpsetProto opset, parse_opset(wire.view()));
        function.opsets.push_back(opset);
        break;
      }
      case 10:
        function.domain = wire.view();
        break;
      case 11: {
        SCANLOOM_TRY(AttributeProto made, attribute(wire.view(), 0));
        function.defaults.push_back(std::move(made));
        break;
      }
      case 13:
        function.overload = wire.view();
        break;
      default:
        wire.skip();
    }
  }
  SCANLOOM_CHECK_OK(finished(wire, "FunctionProto"));
  SCANLOOM_CHECK_OK(check_opset_count(function.opsets));
  const std::size_t attributes = function.attributes.size() + function.defaults.size();
  if (attributes > kMaxAttributes)
    return invalid_model("onnx: a function has {} attributes, but at most {} are allowed",
                         attributes, kMaxAttributes);
  body.name = function.name;
  model_.graphs[index] = std::move(body);
  model_.functions.push_back(std::move(function));
  return pending_graphs();
}

Expected<ModelProto> Parser::model(std::string_view bytes) {
  std::string_view graph_bytes;
  std::vector<std::string_view> functions;
  Wire wire(bytes);
  while (wire.next()) {
    switch (wire.field()) {
      case 1:
        model_.ir_version = wire.integer();
        break;
      case 2:
        model_.producer_name = wire.view();
        break;
      case 3:
        model_.producer_version = wire.view();
        break;
      case 4:
        model_.domain = wire.view();
        break;
      case 5:
        model_.model_version = wire.integer();
        break;
      case 6:
        model_.doc_string = wire.view();
        break;
      case 7:
        model_.has_graph = true;
        graph_bytes = wire.view();
        break;
      case 8: {
        SCANLOOM_TRY(OpsetProto opset, parse_opset(wire.view()));
        model_.opsets.push_back(opset);
        break;
      }
      case 14: {
        SCANLOOM_TRY(EntryProto entry, parse_entry(wire.view()));
        model_.metadata.push_back(entry);
        break;
      }
      case 25:
        functions.push_back(wire.view());
        break;
      default:
        wire.skip();
    }
  }
  SCANLOOM_CHECK_OK(finished(wire, "ModelProto"));
  SCANLOOM_CHECK_OK(check_opset_count(model_.opsets));
  SCANLOOM_CHECK_OK(add_graph(graph_bytes, 0));
  SCANLOOM_CHECK_OK(pending_graphs());
  for (const std::string_view function_bytes : functions)
    SCANLOOM_CHECK_OK(function(function_bytes));
  return std::move(model_);
}

}  // namespace

Expected<ModelProto> parse_model(std::string_view bytes) {
  Parser parser;
  return parser.model(bytes);
}

}  // namespace scanloom::onnx
