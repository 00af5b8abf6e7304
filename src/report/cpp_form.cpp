// The program in C++.
#include <algorithm>

#include <fmt/format.h>

#include "base/control_character.h"
#include "report/code_forms.h"

namespace scanloom::report {
namespace {

std::string literal(const std::string& text) {
  std::string quoted = "\"";
  std::size_t controls = 0;  // bytes left of a control character
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    controls = std::max(controls, control_bytes(text, at));
    if (controls > 0) {
      // Three digits: a digit may follow.
      quoted += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
      --controls;
    } else if (c == '"' || c == '\\') {
      quoted += std::string("\\") + c;
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

/// Returns the type of an element; empty where C++ has none.
std::string_view element_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "float";
    case DType::f64:
      return "double";
    case DType::i8:
      return "std::int8_t";
    case DType::i16:
      return "std::int16_t";
    case DType::i32:
      return "std::int32_t";
    case DType::i64:
      return "std::int64_t";
    case DType::u8:
      return "std::uint8_t";
    case DType::u16:
      return "std::uint16_t";
    case DType::u32:
      return "std::uint32_t";
    case DType::u64:
      return "std::uint64_t";
    case DType::boolean:
      return "bool";
    default:  // the types that C++20 lacks are fed as bytes
      return {};
  }
}

std::string sizes_text(const Interface& interface, std::size_t input, const char* between) {
  std::string text;
  for (std::size_t axis = 0; axis < interface.inputs[input].shape.size(); ++axis)
    text += (axis == 0 ? "" : between) + std::to_string(interface.size(input, axis));
  return text;
}

/// "std::size_t{7} * 40": no overflow of int.
std::string count_text(const Interface& interface, std::size_t input) {
  std::string text = sizes_text(interface, input, " * ");
  if (text.empty()) return "1";
  const std::size_t first = text.find(' ');
  if (first == std::string::npos) return text;
  return "std::size_t{" + text.substr(0, first) + "}" + text.substr(first);
}

/// "16000, 0.5": as numbers of the element type, which an integer may not be in every case.
std::string elements_text(const Interface& interface, std::size_t input) {
  const bool is_real = is_floating_point(interface.inputs[input].dtype);
  std::string text;
  for (const std::string& element : interface.elements(input)) {
    text += (text.empty() ? "" : ", ") + element;
    if (is_real && element.find_first_of(".e") == std::string::npos) text += ".0";
  }
  return text;
}

/// The declaration of an input's elements, and the view of them.
struct Fed {
  std::string declaration, view;
};

Fed fed(const Interface& interface, std::size_t input) {
  const ValueInfo& info = interface.inputs[input];
  const std::string name = "input" + std::to_string(input);
  const std::string shape = "{" + sizes_text(interface, input, ", ") + "}";
  const std::string count = count_text(interface, input);
  if (info.kind == ValueKind::sequence)
    return {"",
            fmt::format("scanloom::sequence({{}}, scanloom::DType::{})", dtype_name(info.dtype))};
  if (info.kind == ValueKind::optional)
    return {"", fmt::format("scanloom::none(scanloom::DType::{})", dtype_name(info.dtype))};
  if (info.kind == ValueKind::map)
    return {"", "scanloom::map({scanloom::DType::i64, {0}}, {scanloom::DType::f32, {0}})"};
  if (dtype_kind(info.dtype) == DTypeKind::text)
    return {fmt::format("const std::vector<std::string> {}({}, \"text\");", name, count),
            fmt::format("scanloom::strings({}, {})", name, shape)};
  const std::string_view type = element_type(info.dtype);
  if (type.empty())
    return {fmt::format("const std::vector<std::byte> {}({} * {});", name, count,
                        dtype_bytes(info.dtype)),
            fmt::format("scanloom::View{{scanloom::DType::{}, {}, {}.data()}}",
                        dtype_name(info.dtype), shape, name)};
  if (!interface.elements(input).empty())
    return {fmt::format("const {} {}[] = {{{}}};", type, name, elements_text(interface, input)),
            fmt::format("scanloom::view({}, {})", name, shape)};
  return {fmt::format("const auto {} = std::make_unique<{}[]>({});", name, type, count),
          fmt::format("scanloom::view({}.get(), {})", name, shape)};
}

std::string declarations(const Interface& interface) {
  std::string text;
  for (std::size_t i = 0; i < interface.inputs.size(); ++i)
    if (const Fed one = fed(interface, i); !one.declaration.empty())
      text += "  " + one.declaration + "  // " + declared_sizes(interface.inputs[i]) + "\n";
  return text;
}

/// The views of what a call is fed: by position for a function, otherwise by name.
std::string views(const Interface& interface) {
  std::string text;
  for (std::size_t i = 0; i < interface.inputs.size(); ++i) {
    if (interface.is_set_first(i)) continue;
    const std::string view = fed(interface, i).view;
    text += (text.empty() ? "" : ",\n       ") +
            (interface.is_function
                 ? view
                 : fmt::format("{{{}, {}}}", literal(interface.inputs[i].name), view));
  }
  return "{" + text + "}";
}

/// ", {.states = {{"h", "h_next"}}, .low_latency = true}"; empty if there are no such options.
std::string options_text(const Interface& interface) {
  if (!interface.stream) return {};
  std::string states;
  for (const auto& [input, output] : interface.stream->states)
    states +=
        fmt::format("{}{{{}, {}}}", states.empty() ? "" : ", ", literal(input), literal(output));
  std::string options = states.empty() ? "" : ".states = {" + states + "}";
  if (interface.stream->low_latency)
    options += std::string(options.empty() ? "" : ", ") + ".low_latency = true";
  return options.empty() ? "" : ", {" + options + "}";
}

std::string stream_text(const Interface& interface) {
  std::string text = "  scanloom::Stream stream = session.stream().value_or_throw();\n";
  for (std::size_t i = 0; i < interface.inputs.size(); ++i)
    if (interface.is_set_first(i))
      text += fmt::format("  stream.set({}, {}).value_or_throw();\n",
                          literal(interface.inputs[i].name), fed(interface, i).view);
  return text;
}

constexpr const char* kIncludes =
    "#include <cstddef>\n#include <cstdint>\n#include <iostream>\n#include <memory>\n"
    "#include <string>\n#include <vector>\n\n";

std::string call_of_function(const Interface& interface) {
  return kIncludes + std::string("#include <scanloom/function.h>\n\n") +
         fmt::format(
             "int main() {{\n  // Written by function.save(\"{0}\").\n"
             "  const scanloom::Function function =\n"
             "      scanloom::Function::load(\"{0}\").value_or_throw();\n",
             kFunctionFile) +
         declarations(interface) +
         "  const std::vector<scanloom::Value> results =\n      function(" + views(interface) +
         ").value_or_throw();\n"
         "  for (const scanloom::Value& value : results)\n"
         "    std::cout << value.elements() << \" elements\\n\";\n}\n";
}

/// A call, and the printing of its results, each line after `indent`.
std::string call_and_print(const Interface& interface, const std::string& call,
                           const std::string& indent) {
  return indent + "const scanloom::Results results = " + call + "(\n" + indent + "    " +
         views(interface) + ").value_or_throw();\n" + indent +
         "for (std::size_t i = 0; i < results.size(); ++i)\n" + indent +
         "  std::cout << results.name(i) << \": \" << results[i].elements() << \" "
         "elements\\n\";\n";
}

}  // namespace

std::string cpp_form(const Interface& interface) {
  if (interface.is_function) return call_of_function(interface);
  const std::string begin = kIncludes + std::string("#include <scanloom/session.h>\n\n") +
                            "int main() {\n  const scanloom::Session session =\n"
                            "      scanloom::Session::load(" +
                            literal(model_path(interface)) + options_text(interface) +
                            ").value_or_throw();\n" + declarations(interface);
  if (!interface.stream) return begin + call_and_print(interface, "session.run", "  ") + "}\n";
  return begin + stream_text(interface) +
         fmt::format("  for (int push = 0; push < {}; ++push) {{\n", kPushes) +
         call_and_print(interface, "stream.push", "    ") + "  }\n}\n";
}

}  // namespace scanloom::report
