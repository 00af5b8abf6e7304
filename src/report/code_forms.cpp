#include "report/code_forms.h"

namespace scanloom::report {
namespace {

/// Quotes a word for a shell, unless no character needs it.
std::string shell_word(const std::string& text) {
  const bool is_plain = !text.empty() && text[0] != '=' &&
                        text.find_first_not_of(
                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                            "0123456789_./=,:-") == std::string::npos;
  if (is_plain) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// Returns the value after `--feed NAME=` for an input of that kind.
std::string fed(const ValueInfo& info) {
  switch (info.kind) {
    case ValueKind::sequence:
      return "[]";
    case ValueKind::optional:
      return "none";
    case ValueKind::map:
      return info.name + ".pb";
    case ValueKind::tensor:
      break;
  }
  if (dtype_kind(info.dtype) == DTypeKind::text) return "'text'";
  return dtype_kind(info.dtype) == DTypeKind::complex ? "[0j]" : "zeros";
}

/// Returns an option and its value as words of a shell; a value may begin like an option.
std::string option_words(const std::string& option, const std::string& value) {
  return value.starts_with('-') ? shell_word(option + "=" + value)
                                : option + " " + shell_word(value);
}

}  // namespace

std::int64_t Interface::size(std::size_t input, std::size_t axis) const {
  if (input < sizes.size() && axis < sizes[input].size()) return sizes[input][axis];
  const std::int64_t declared = inputs[input].shape[axis].size;
  return declared < 0 ? 1 : declared;
}

std::string model_path(const Interface& interface) {
  return interface.path.empty() ? "model.onnx" : interface.path;
}

std::string declared_sizes(const ValueInfo& info) {
  if (!info.ranked) return "any sizes";
  std::string text;
  for (const ValueInfo::Dim& dim : info.shape) {
    const std::string size = dim.size >= 0      ? std::to_string(dim.size)
                             : dim.name.empty() ? std::string("?")
                                                : shown(dim.name);
    text += (text.empty() ? "" : " x ") + size;
  }
  if (text.empty()) text = "one element";
  // A comment ends with its line, and one that ends with a backslash would take the next.
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == '\\' || c == '\x7f') c = ' ';
  return text;
}

std::string command_form(const Interface& interface) {
  std::string path = model_path(interface);
  if (path.starts_with('-')) path.insert(0, "./");
  std::string text = "scanloom run " + shell_word(path);
  for (std::size_t i = 0; i < interface.inputs.size(); ++i) {
    const ValueInfo& info = interface.inputs[i];
    text += " \\\n    " + option_words("--feed", info.name + "=" + fed(info));
    if (info.kind != ValueKind::tensor) continue;
    for (std::size_t axis = 0; axis < info.shape.size(); ++axis)
      if (info.shape[axis].size < 0)
        text += " " + option_words("--dim", info.name + "." + std::to_string(axis) + "=" +
                                                std::to_string(interface.size(i, axis)));
  }
  return text + " \\\n    --out results.npz\n";
}

Json code_forms(const Interface& interface) {
  Json forms{{"python", python_form(interface)}, {"cpp", cpp_form(interface)}};
  if (!interface.is_function && !interface.stream) forms["command"] = command_form(interface);
  return forms;
}

}  // namespace scanloom::report
