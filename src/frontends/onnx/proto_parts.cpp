#include "frontends/onnx/proto_parts.h"

#include "frontends/onnx/wire.h"

namespace scanloom::onnx {
namespace {

Expected<DimProto> parse_dim(std::string_view bytes) {
  DimProto dim;
  Wire wire(bytes);
  while (wire.next()) {
    switch (wire.field()) {
      case 1:
        dim.kind = DimProto::Kind::value;
        dim.value = wire.integer();
        break;
      case 2:
        dim.kind = DimProto::Kind::param;
        dim.param = wire.view();
        break;
      default:
        wire.skip();
    }
  }
  SCANLOOM_CHECK_OK(finished(wire, "TensorShapeProto.Dimension"));
  return dim;
}

Expected<void> parse_shape(std::string_view bytes, TypeProto& type) {
  type.has_shape = true;
  Wire wire(bytes);
  while (wire.next()) {
    if (wire.field() != 1) {
      wire.skip();
      continue;
    }
    SCANLOOM_TRY(DimProto dim, parse_dim(wire.view()));
    type.dims.push_back(dim);
  }
  return finished(wire, "TensorShapeProto");
}

Expected<void> parse_tensor_type(std::string_view bytes, TypeProto& type) {
  type.kind = TypeProto::Kind::tensor;
  Wire wire(bytes);
  while (wire.next()) {
    switch (wire.field()) {
      case 1:
        type.elem_type = wire.integer();
        break;
      case 2:
        SCANLOOM_CHECK_OK(parse_shape(wire.view(), type));
        break;
      default:
        wire.skip();
    }
  }
  return finished(wire, "TypeProto.Tensor");
}

/// The element type inside a TypeProto.Sequence or TypeProto.Optional.
Expected<std::string_view> parse_element_type(std::string_view bytes) {
  std::string_view element;
  Wire wire(bytes);
  while (wire.next()) {
    if (wire.field() == 1)
      element = wire.view();
    else
      wire.skip();
  }
  SCANLOOM_CHECK_OK(finished(wire, "TypeProto"));
  return element;
}

/// Reads the type of a map. Returns the bytes of its values' type.
Expected<std::string_view> parse_map_type(std::string_view bytes, TypeProto& type) {
  constexpr std::int64_t kInt64 = 7, kString = 8;
  std::int64_t keys = 0;
  std::string_view values;
  Wire wire(bytes);
  while (wire.next()) {
    if (wire.field() == 1)
      keys = wire.integer();
    else if (wire.field() == 2)
      values = wire.view();
    else
      wire.skip();
  }
  SCANLOOM_CHECK_OK(finished(wire, "TypeProto.Map"));
  // Nothing but a tensor can be inside a map.
  const bool nested = !type.wraps.empty() && is_map(type.wraps.back());
  if (nested || (keys != kInt64 && keys != kString)) {
    type.kind = TypeProto::Kind::other;
    return std::string_view();
  }
  type.wraps.push_back(keys == kInt64 ? tensor::Wrap::map_i64 : tensor::Wrap::map_string);
  return values;
}

/// Reads one layer. Returns the bytes of the type inside it; empty if there is none.
Expected<std::string_view> parse_type_layer(std::string_view bytes, TypeProto& type) {
  std::string_view inner;
  Wire wire(bytes);
  while (wire.next()) {
    switch (wire.field()) {
      case 1:
        SCANLOOM_CHECK_OK(parse_tensor_type(wire.view(), type));
        break;
      case 4:
      case 9: {
        type.wraps.push_back(wire.field() == 4 ? tensor::Wrap::sequence : tensor::Wrap::optional);
        SCANLOOM_TRY(inner, parse_element_type(wire.view()));
        break;
      }
      case 5: {
        SCANLOOM_TRY(inner, parse_map_type(wire.view(), type));
        break;
      }
      case 7:
      case 8:
        type.kind = TypeProto::Kind::other;
        wire.skip();
        break;
      default:
        wire.skip();
    }
  }
  SCANLOOM_CHECK_OK(finished(wire, "TypeProto"));
  return inner;
}

}  // namespace

Expected<TypeProto> parse_type(std::string_view bytes) {
  TypeProto type;
  while (!bytes.empty()) {
    SCANLOOM_TRY(bytes, parse_type_layer(bytes, type));
    if (type.wraps.size() > tensor::Type::kMaxWraps)
      return invalid_model("onnx: a type is nested more than {} deep", tensor::Type::kMaxWraps);
  }
  return type;
}

Expected<void> finished(const Wire& wire, std::string_view message) {
  if (wire.ok()) return {};
  return invalid_model("onnx: malformed bytes in a {}, {}", message, wire.mistake());
}

Expected<EntryProto> parse_entry(std::string_view bytes) {
  EntryProto entry;
  Wire wire(bytes);
  while (wire.next()) {
    switch (wire.field()) {
      case 1:
        entry.key = wire.view();
        break;
      case 2:
        entry.value = wire.view();
        break;
      default:
        wire.skip();
    }
  }
  SCANLOOM_CHECK_OK(finished(wire, "StringStringEntryProto"));
  return entry;
}

Expected<OpsetProto> parse_opset(std::string_view bytes) {
  OpsetProto opset;
  Wire wire(bytes);
  while (wire.next()) {
    switch (wire.field()) {
      case 1:
        opset.domain = wire.view();
        break;
      case 2:
        opset.version = wire.integer();
        break;
      default:
        wire.skip();
    }
  }
  SCANLOOM_CHECK_OK(finished(wire, "OperatorSetIdProto"));
  return opset;
}

Expected<ValueInfoProto> parse_value_info(std::string_view bytes) {
  ValueInfoProto info;
  Wire wire(bytes);
  while (wire.next()) {
    switch (wire.field()) {
      case 1:
        info.name = wire.view();
        break;
      case 2: {
        SCANLOOM_TRY(info.type, parse_type(wire.view()));
        break;
      }
      default:
        wire.skip();
    }
  }
  SCANLOOM_CHECK_OK(finished(wire, "ValueInfoProto"));
  return info;
}

Expected<SparseTensorProto> parse_sparse_tensor(std::string_view bytes) {
  SparseTensorProto sparse;
  Wire wire(bytes);
  while (wire.next()) {
    switch (wire.field()) {
      case 1: {
        SCANLOOM_TRY(sparse.values, parse_tensor(wire.view()));
        break;
      }
      case 2: {
        SCANLOOM_TRY(sparse.indices, parse_tensor(wire.view()));
        break;
      }
      case 3:
        wire.append(sparse.dims);
        break;
      default:
        wire.skip();
    }
  }
  SCANLOOM_CHECK_OK(finished(wire, "SparseTensorProto"));
  return sparse;
}

Expected<TensorProto> parse_tensor(std::string_view bytes) {
  TensorProto tensor;
  tensor.bytes = bytes;
  Wire wire(bytes);
  while (wire.next()) {
    switch (wire.field()) {
      case 1:
        wire.append(tensor.dims);
        break;
      case 2:
        tensor.data_type = wire.integer();
        break;
      case 3:
        tensor.has_segment = true;
        wire.skip();
        break;
      case 8:
        tensor.name = wire.view();
        break;
      case 9:
        tensor.has_raw = true;
        tensor.raw = wire.view();
        break;
      case 13: {
        SCANLOOM_TRY(EntryProto entry, parse_entry(wire.view()));
        tensor.external_data.push_back(entry);
        break;
      }
      case 14:
        tensor.external = wire.integer() == 1;
        break;
      default:
        wire.skip();
    }
  }
  SCANLOOM_CHECK_OK(finished(wire, "TensorProto"));
  return tensor;
}

}  // namespace scanloom::onnx
