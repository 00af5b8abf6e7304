#include "report/code_forms.h"

#include <algorithm>
#include <vector>

#include <scanloom/shell_word.h>

#include "base/one_line.h"

namespace scanloom::report {
namespace {

/// Returns the value after `--feed NAME=` for an input of that kind.
std::string feed_word(const Interface& interface, std::size_t input) {
  const ValueInfo& info = interface.inputs[input];
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
  if (dtype_kind(info.dtype) == DTypeKind::complex) return "[0j]";
  const std::string elements = nested_elements(interface, input);
  return elements.empty() ? "zeros" : elements;
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
  text = one_line(text);
  std::ranges::replace(text, '\\', ' ');
  return text;
}

std::string nested_elements(const Interface& interface, std::size_t input) {
  const std::span<const std::string> elements = interface.elements(input);
  const std::size_t rank = interface.inputs[input].shape.size();
  if (elements.empty() || rank == 0) return elements.empty() ? std::string() : elements[0];
  // Brackets open and close wherever an element is the first or the last of so many.
  std::vector<std::size_t> counts(rank, 1);
  for (std::size_t axis = rank; axis-- > 0;) {
    counts[axis] = static_cast<std::size_t>(interface.size(input, axis));
    if (axis + 1 < rank) counts[axis] *= counts[axis + 1];
  }
  std::string text;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (i > 0) text += ", ";
    for (const std::size_t count : counts) text += i % count == 0 ? "[" : "";
    text += elements[i];
    for (const std::size_t count : counts) text += (i + 1) % count == 0 ? "]" : "";
  }
  return text;
}

std::string command_form(const Interface& interface) {
  std::string path = model_path(interface);
  if (path.starts_with('-')) path.insert(0, "./");
  std::string text = "scanloom run " + shell_word(path);
  for (std::size_t i = 0; i < interface.inputs.size(); ++i) {
    const ValueInfo& info = interface.inputs[i];
    text += " \\\n    " + option_words("--feed", info.name + "=" + feed_word(interface, i));
    if (info.kind != ValueKind::tensor || !interface.elements(i).empty()) continue;
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
