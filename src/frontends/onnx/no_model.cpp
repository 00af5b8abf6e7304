#include "frontends/onnx/no_model.h"

#include <algorithm>

#include "frontends/onnx/proto_parts.h"
#include "frontends/onnx/tensor_data.h"
#include "frontends/onnx/wire.h"

namespace scanloom::onnx {
namespace {

/// The form of a field's value, as far as it matters here.
enum class Form : std::uint8_t { integer, bytes };

struct FieldForm {
  std::uint32_t field;
  Form form;
};

constexpr std::uint32_t kVersionField = 1, kGraphField = 7;

/// The fields of ModelProto.
constexpr FieldForm kModelFields[] = {
    {kVersionField, Form::integer},
    {2, Form::bytes},
    {3, Form::bytes},
    {4, Form::bytes},
    {5, Form::integer},
    {6, Form::bytes},
    {kGraphField, Form::bytes},
    {8, Form::bytes},
    {14, Form::bytes},
    {20, Form::bytes},
    {25, Form::bytes},
    {26, Form::bytes},
};

/// The outermost message, read as a ModelProto.
struct Outline {
  bool is_alike = true;  ///< it has no field that ModelProto lacks
  bool has_version = false, has_graph = false;
  bool is_whole = false;
  bool is_cut_off = false;
};

Outline outline_of(std::string_view bytes) {
  Outline outline;
  Wire wire(bytes);
  while (wire.next()) {
    const auto* const known = std::ranges::find(kModelFields, wire.field(), &FieldForm::field);
    if (known == std::end(kModelFields)) {
      outline.is_alike = false;
      wire.skip();
      continue;
    }
    outline.has_version = outline.has_version || known->field == kVersionField;
    outline.has_graph = outline.has_graph || known->field == kGraphField;
    if (known->form == Form::integer)
      (void)wire.integer();
    else
      (void)wire.view();
  }
  outline.is_whole = wire.ok();
  outline.is_cut_off = wire.is_cut_off();
  return outline;
}

/// Whether the bytes are a message that only has fields of bytes numbered 1 to `last`.
bool is_message_of_bytes(std::string_view bytes, std::uint32_t last) {
  Wire wire(bytes);
  while (wire.next()) {
    if (wire.field() > last) return false;
    (void)wire.view();
  }
  return wire.ok() && !bytes.empty();
}

/// SavedModel: a schema version of 1 and MetaGraphDefs.
bool is_tensorflow_saved_model(std::string_view bytes) {
  Wire wire(bytes);
  bool has_meta_graph = false;
  while (wire.next()) {
    if (wire.field() == 1) {
      if (wire.integer() != 1) return false;
    } else if (wire.field() != 2 || !is_message_of_bytes(wire.view(), 7)) {
      return false;
    } else {
      has_meta_graph = true;
    }
  }
  return wire.ok() && has_meta_graph;
}

bool is_identifier(std::string_view text) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !text.empty() && is_letter(text.front()) && std::ranges::all_of(text, [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '>';
  });
}

/// GraphProto: all fields belong to it, and it has inputs or outputs, whose numbers GraphDef does
/// not use.
bool is_onnx_graph(std::string_view bytes) {
  constexpr std::uint32_t kFields[] = {1, 2, 5, 10, 11, 12, 13, 14, 15, 16};
  constexpr std::uint32_t kInputs = 11, kOutputs = 12;
  Wire wire(bytes);
  bool has_ends = false;
  while (wire.next()) {
    if (std::ranges::find(kFields, wire.field()) == std::end(kFields)) return false;
    has_ends = has_ends || wire.field() == kInputs || wire.field() == kOutputs;
    (void)wire.view();
  }
  return wire.ok() && has_ends;
}

/// GraphDef: starts with a NodeDef, which has a name and the name of an operation.
bool is_tensorflow_graph(std::string_view bytes) {
  Wire wire(bytes);
  if (!wire.next() || wire.field() != 1) return false;
  Wire node(wire.view());
  bool has_name = false, has_operation = false;
  while (node.next()) {
    const std::uint32_t field = node.field();
    const std::string_view value = node.view();
    if (field == 1) has_name = !value.empty();
    if (field == 2) has_operation = is_identifier(value);
    if (field > 7) return false;
  }
  return wire.ok() && node.ok() && has_name && has_operation;
}

/// Core ML model: a version, a description, and the kind of model given by a field numbered 200 or
/// more.
bool is_core_ml(std::string_view bytes) {
  Wire wire(bytes);
  bool has_kind = false;
  while (wire.next()) {
    if (wire.field() > 10 && wire.field() < 200) return false;
    has_kind = has_kind || wire.field() >= 200;
    if (wire.field() == 1)
      (void)wire.integer();
    else
      wire.skip();
  }
  return wire.ok() && has_kind;
}

bool is_tensor(std::string_view bytes) {
  const Expected<TensorProto> tensor = parse_tensor(bytes);
  return tensor && dtype_of_number(tensor->data_type);
}

/// Returns what the bytes are and what to do; empty if they are not recognised.
std::string_view describe_kind(std::string_view bytes) {
  if (is_tensor(bytes))
    return "is an ONNX tensor (a TensorProto), not a model: feed it as an input";
  if (is_onnx_graph(bytes))
    return "is an ONNX graph (a GraphProto), not a model: save onnx.helper.make_model(graph) "
           "instead of the graph";
  if (is_tensorflow_graph(bytes))
    return "is a TensorFlow graph (a GraphDef): convert it with 'python -m tf2onnx.convert "
           "--graphdef FILE --inputs NAMES --outputs NAMES --output model.onnx'";
  if (is_tensorflow_saved_model(bytes))
    return "is a TensorFlow SavedModel: convert its folder with 'python -m tf2onnx.convert "
           "--saved-model FOLDER --output model.onnx'";
  if (is_core_ml(bytes)) return "is a Core ML model: export it to ONNX from its original framework";
  if (!bytes.empty() && std::ranges::all_of(bytes, [](char c) { return c == 0; }))
    return "holds only zeros, as an unfinished download does: download it again";
  return {};
}

}  // namespace

bool is_whole_model(std::string_view bytes) {
  const Outline outline = outline_of(bytes);
  return outline.is_alike && outline.is_whole && outline.has_graph;
}

Error no_model(std::string_view bytes, const ReadOptions& options, const Error& mistake) {
  const std::string_view what = options.name.empty() ? std::string_view("the model") : options.name;
  std::string_view where = mistake.text();
  if (where.starts_with("onnx: ")) where.remove_prefix(6);
  const Outline outline = outline_of(bytes);
  if (!options.otherwise.empty())
    return invalid_model("onnx: {} is not an ONNX model: {}", what, options.otherwise);
  if (outline.is_alike && outline.has_version && outline.is_cut_off)
    return invalid_model("onnx: {} is truncated, download or copy it again: {}", what, where);
  if (const std::string_view kind = describe_kind(bytes); !kind.empty())
    return invalid_model("onnx: {} {}", what, kind);
  if (outline.is_alike && outline.is_whole) return mistake;  // it has no graph
  return invalid_model("onnx: {} is not an ONNX model: {}", options.name.empty() ? "this" : what,
                       where);
}

}  // namespace scanloom::onnx
