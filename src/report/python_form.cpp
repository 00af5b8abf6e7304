// The program in Python.
#include <fmt/format.h>

#include "base/control_character.h"
#include "report/code_forms.h"

namespace scanloom::report {
namespace {

/// Returns the code of a control character of up to three bytes of UTF-8.
unsigned code_of(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  if (bytes.size() == 1) return byte(0);
  if (bytes.size() == 2) return (byte(0) & 0x1fu) << 6 | (byte(1) & 0x3fu);
  return (byte(0) & 0x0fu) << 12 | (byte(1) & 0x3fu) << 6 | (byte(2) & 0x3fu);
}

/// JSON's escapes mean the same in Python.
std::string python_literal(const std::string& text) {
  const std::string json = Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string escaped;
  for (std::size_t at = 0; at < json.size();) {
    const std::size_t control = control_bytes(json, at);
    if (control == 0) {
      escaped += json[at++];
      continue;
    }
    escaped += fmt::format("\\u{:04x}", code_of(std::string_view(json).substr(at, control)));
    at += control;
  }
  return escaped;
}

/// "float8_e4m3fn" for ONNX's "float8e4m3fn".
std::string ml_dtypes_name(DType dtype) {
  std::string name(dtype_onnx_name(dtype));
  if (dtype == DType::f8e8m0) name += "fnu";
  if (dtype == DType::f4e2m1) name += "fn";
  if (name.starts_with("float")) name.insert(name.find('e'), "_");
  return name;
}

std::string numpy_type(DType dtype) {
  if (dtype == DType::f32) return "numpy.float32";
  if (dtype == DType::f64) return "numpy.float64";
  if (dtype == DType::boolean) return "numpy.bool_";  // numpy.bool is not in every version
  const std::string name(dtype_onnx_name(dtype));
  const bool is_numpys = dtype == DType::f16 || dtype_kind(dtype) == DTypeKind::complex ||
                         (is_integer(dtype) && dtype_file_bits(dtype) >= 8);
  return is_numpys ? "numpy." + name : "ml_dtypes." + ml_dtypes_name(dtype);
}

std::string shape_text(const Interface& interface, std::size_t input) {
  const std::size_t rank = interface.inputs[input].shape.size();
  std::string text = "(";
  for (std::size_t axis = 0; axis < rank; ++axis)
    text += (axis == 0 ? "" : ", ") + std::to_string(interface.size(input, axis));
  return text + (rank == 1 ? ",)" : ")");
}

std::string value_text(const Interface& interface, std::size_t input) {
  const ValueInfo& info = interface.inputs[input];
  switch (info.kind) {
    case ValueKind::sequence:
      return "[]";
    case ValueKind::optional:
      return "None";
    case ValueKind::map:
      return "{}";
    case ValueKind::tensor:
      break;
  }
  const std::string shape = shape_text(interface, input);
  if (dtype_kind(info.dtype) == DTypeKind::text) return "numpy.full(" + shape + ", \"text\")";
  if (const std::string elements = nested_elements(interface, input); !elements.empty())
    return "numpy.array(" + elements + ", " + numpy_type(info.dtype) + ")";
  return "numpy.zeros(" + shape + ", " + numpy_type(info.dtype) + ")";
}

std::string imports(const Interface& interface) {
  std::string text;
  for (const ValueInfo& info : interface.inputs)
    if (info.kind == ValueKind::tensor && dtype_kind(info.dtype) != DTypeKind::text &&
        numpy_type(info.dtype).starts_with("ml_dtypes"))
      text = "import ml_dtypes\n";
  return text + "import numpy\nimport scanloom\n\n";
}

std::string python_call_of_function(const Interface& interface) {
  std::string text = imports(interface) + fmt::format(
                                              "# Written by function.save(\"{0}\").\n"
                                              "function = scanloom.load(\"{0}\")\n"
                                              "results = function(\n",
                                              kFunctionFile);
  for (std::size_t i = 0; i < interface.inputs.size(); ++i)
    text +=
        "    " + value_text(interface, i) + ",  # " + declared_sizes(interface.inputs[i]) + "\n";
  return text + ")\nprint(results)\n";
}

/// "{"h": "h_next"}".
std::string named_states(const StreamUse& stream) {
  std::string text;
  for (const auto& [input, output] : stream.states)
    text += (text.empty() ? "{" : ", ") + python_literal(input) + ": " + python_literal(output);
  return text + "}";
}

std::string session_and_stream(const Interface& interface) {
  const bool low_latency = interface.stream && interface.stream->low_latency;
  std::string text = "session = scanloom.InferenceSession(" +
                     python_literal(model_path(interface)) +
                     (low_latency ? ", low_latency=True" : "") + ")\n";
  if (!interface.stream) return text;
  const StreamUse& stream = *interface.stream;
  text += "stream = session.stream(" +
          (stream.states.empty() ? "" : "states=" + named_states(stream)) + ")\n";
  for (std::size_t i = 0; i < interface.inputs.size(); ++i)
    if (stream.is_set_first[i])
      text += "stream.set(" + python_literal(interface.inputs[i].name) + ", " +
              value_text(interface, i) + ")  # " + declared_sizes(interface.inputs[i]) + "\n";
  return text;
}

std::string feeds(const Interface& interface) {
  std::string text = "feeds = {\n";
  for (std::size_t i = 0; i < interface.inputs.size(); ++i)
    if (!interface.is_set_first(i))
      text += "    " + python_literal(interface.inputs[i].name) + ": " + value_text(interface, i) +
              ",  # " + declared_sizes(interface.inputs[i]) + "\n";
  return text + "}\n";
}

std::string output_names(const Interface& interface) {
  std::string text;
  for (const ValueInfo& output : interface.outputs)
    text += (text.empty() ? "" : ", ") + python_literal(output.name);
  return "names = [" + text + "]\n";
}

}  // namespace

std::string python_form(const Interface& interface) {
  if (interface.is_function) return python_call_of_function(interface);
  const std::string begin = imports(interface) + session_and_stream(interface) + feeds(interface) +
                            output_names(interface);
  if (!interface.stream)
    return begin +
           "for name, value in zip(names, session.run(names, feeds)):\n"
           "    print(name, getattr(value, \"shape\", value))\n";
  return begin + fmt::format("for push in range({}):\n", kPushes) +
         "    for name, value in zip(names, stream.push(feeds, names)):\n"
         "        print(push, name, getattr(value, \"shape\", value))\n";
}

}  // namespace scanloom::report
