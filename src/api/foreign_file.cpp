#include "api/foreign_file.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "api/zip_names.h"
#include "base/expected.h"
#include "base/utf8.h"

namespace scanloom {
namespace {

/// How much of a text is examined, and how much of a title or name is shown.
constexpr std::size_t kExaminedText = 4096, kShownText = 60;

constexpr std::string_view kExport =
    "export the model with torch.onnx.export(model, inputs, 'model.onnx')";

struct FileKind {
  std::size_t at;
  std::string_view bytes, description;
};

using namespace std::string_view_literals;

/// Formats recognised by a few bytes.
constexpr FileKind kKinds[] = {
    {0, "\x1f\x8b\x08"sv,
     "is compressed with gzip: unpack it (gunzip, or 'tar xf' where it is a "
     ".tar.gz)"},
    {0, "BZh"sv,
     "is compressed with bzip2: unpack it (bunzip2, or 'tar xf' where it is a .tar.bz2)"},
    {0,
     "\xfd"
     "7zXZ\0"sv,
     "is compressed with xz: unpack it (unxz, or 'tar xf' where it is a .tar.xz)"},
    {0, "\x28\xb5\x2f\xfd"sv, "is compressed with zstd: unpack it (unzstd)"},
    {0, "7z\xbc\xaf\x27\x1c"sv, "is a 7z archive: unpack it"},
    {0, "Rar!\x1a\x07"sv, "is a RAR archive: unpack it"},
    {257, "ustar"sv, "is a tar archive: unpack it (tar xf)"},
    {4, "TFL3"sv,
     "is a TensorFlow Lite model: convert it with 'python -m tf2onnx.convert --tflite FILE "
     "--output model.onnx'"},
    {4, "ORTM"sv,
     "is in the ORT format, which only onnxruntime reads: load the .onnx that it was made from, or "
     "let onnxruntime write one: set optimized_model_filepath = 'model.onnx' in its SessionOptions "
     "and make an InferenceSession of the file with them"},
    {0, "\x89HDF\r\n\x1a\n"sv,
     "is in the HDF5 format, which Keras uses: export it with model.export('model.onnx', "
     "format='onnx') or tf2onnx"},
    {0, "\x93NUMPY"sv, "is a NumPy array (.npy), not a model: feed it as an input"},
    {0, "GGUF"sv,
     "is in the GGUF format of llama.cpp, which holds no graph: export the model to ONNX from its "
     "original framework"},
};

bool has_at(std::string_view bytes, std::size_t at, std::string_view wanted) {
  return bytes.size() >= at && bytes.substr(at).starts_with(wanted);
}

/// The first bytes, with ASCII letters in lower case.
std::string lower_beginning(std::string_view bytes) {
  std::string text(bytes.substr(0, kExaminedText));
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

std::string shown(std::string_view text) { return shortened(to_valid_utf8(text), kShownText); }

/// The text between the first `open` and the next '<'.
std::optional<std::string> text_after(std::string_view bytes, std::string_view lower,
                                      std::string_view open) {
  const std::size_t found = lower.find(open);
  if (found == std::string_view::npos) return std::nullopt;
  const std::size_t begin = found + open.size();
  std::string text = shown(bytes.substr(begin, lower.find('<', begin) - begin));
  std::ranges::replace_if(text, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return text;
}

/// Describes bytes that begin with '<' and are not an IR.
std::string describe_markup(std::string_view bytes) {
  const std::size_t mark = bytes.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  const std::size_t first = bytes.substr(0, kExaminedText).find_first_not_of(" \t\r\n", mark);
  if (first == std::string_view::npos || bytes[first] != '<') return {};
  const std::string lower = lower_beginning(bytes);
  const std::string_view text = std::string_view(lower).substr(first);
  const bool is_page =
      text.starts_with("<!doctype html") || text.starts_with("<html") ||
      text.starts_with("<head") || text.starts_with("<body") ||
      (text.starts_with("<?xml") && text.find("<html") != std::string_view::npos) ||
      (text.starts_with("<!--") && text.find("<html") != std::string_view::npos);
  if (is_page) {
    const auto title = text_after(bytes, lower, "<title>");
    return fmt::format(
        "is a web page (HTML){}, not a model: download the file itself from the link to its raw "
        "contents",
        title ? " with the title '" + *title + "'" : "");
  }
  if (const auto code = text_after(bytes, lower, "<code>");
      code && text.find("<error") < text.find("<code>"))
    return fmt::format("is a server's reply with the error '{}', not a model: download it again",
                       *code);
  const std::size_t word = text.find_first_not_of(" \t\r\n", 1);
  if (word != std::string_view::npos && text.substr(word).starts_with("ir_version"))
    return "is an ONNX model as text for onnx.parser: save the result of onnx.parser.parse_model";
  return {};
}

/// The length of a line with a dotted Python name; 0: there is none.
std::size_t name_line(std::string_view bytes) {
  constexpr std::size_t kMaxName = 200;
  const std::size_t end = bytes.substr(0, kMaxName).find('\n');
  if (end == std::string_view::npos || end == 0) return 0;
  const bool is_name = std::ranges::all_of(bytes.substr(0, end), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
  });
  return is_name ? end + 1 : 0;
}

/// A pickle of protocol 0 or 1, which has no header: a dict, a list or an object of a class, and
/// the final opcode. Source: Python's pickletools.
bool is_old_pickle(std::string_view bytes) {
  if (!bytes.ends_with('.')) return false;
  if (bytes.starts_with("(dp") || bytes.starts_with("(lp")) return name_line(bytes.substr(3)) > 0;
  if (bytes.starts_with("}q") || bytes.starts_with("]q")) return true;
  if (!bytes.starts_with('c')) return false;
  const std::size_t module = name_line(bytes.substr(1));
  const std::size_t name = module == 0 ? 0 : name_line(bytes.substr(1 + module));
  return name > 0;
}

/// A Python pickle, the format of PyTorch files before they became zip archives.
std::string describe_pickle(std::string_view bytes) {
  const bool has_header = bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
  if (!has_header && !is_old_pickle(bytes)) return {};
  constexpr std::string_view kTorch = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
  if (has_at(bytes, 2, kTorch)) return fmt::format("is a PyTorch file: {}", kExport);
  return fmt::format(
      "is a Python pickle, not an ONNX model: {}, or use the converter of its library (skl2onnx, "
      "tf2onnx)",
      kExport);
}

/// Whether the bytes begin with a length and a JSON header. A truncated file may lack the end of
/// the header, but must have its first quote.
bool is_safetensors(std::string_view bytes) {
  constexpr std::uint64_t kMaxHeader = 100'000'000;  // limit of the format
  if (!has_at(bytes, 8, "{")) return false;
  std::uint64_t length = 0;
  for (std::size_t i = 8; i-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes[i]);
  if (length > bytes.size() - 8) return length <= kMaxHeader && has_at(bytes, 8, "{\"");
  return length > 0;
}

bool ends_with_any(std::string_view name, std::initializer_list<std::string_view> ends) {
  return std::ranges::any_of(ends, [&](std::string_view end) { return name.ends_with(end); });
}

std::string describe_zip(std::string_view bytes) {
  if (has_at(bytes, 0, "PK\x05\x06"))
    return "is an empty zip archive without a model: create or download it again";
  if (!has_at(bytes, 0, "PK\x03\x04") || bytes.size() < 30) return {};
  const std::vector<std::string_view> names = zip_names(bytes);
  const auto holds = [&](std::string_view end) {
    return std::ranges::any_of(names, [&](std::string_view name) { return name.ends_with(end); });
  };
  if (holds("data.pkl") || holds("archive_format"))
    return fmt::format("is a PyTorch file (a zip archive): {}", kExport);
  if (holds("model.weights.h5"))
    return "is a Keras model (a zip archive): export it with model.export('model.onnx', "
           "format='onnx')";
  if (!names.empty() &&
      std::ranges::all_of(names, [](auto name) { return name.ends_with(".npy"); }))
    return "holds NumPy arrays (.npz), not a model: feed them as inputs";
  const auto has = [&](std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  };
  if (has("[Content_Types].xml") || (has("mimetype") && has("content.xml")))
    return "is an Office document (such as .docx or .xlsx), not a model";
  for (const std::string_view name : names)
    if (ends_with_any(name, {".onnx", ".xml", "saved_model.pb"}))
      return fmt::format("is a zip archive that holds '{}': unpack it", shown(name));
  return "is a zip archive: unpack it";
}

}  // namespace

std::string describe_foreign(std::string_view bytes) {
  for (const FileKind& kind : kKinds)
    if (has_at(bytes, kind.at, kind.bytes)) return std::string(kind.description);
  if (is_safetensors(bytes))
    return "is a safetensors file, which holds weights without a graph: export the model to ONNX "
           "with the program that defines it";
  if (std::string zip = describe_zip(bytes); !zip.empty()) return zip;
  if (std::string pickle = describe_pickle(bytes); !pickle.empty()) return pickle;
  return describe_markup(bytes);
}

std::string describe_folder(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path folder(path);
  if (std::filesystem::exists(folder / "saved_model.pb", failed))
    return fmt::format(
        "is a folder with a TensorFlow SavedModel: convert it with 'python -m tf2onnx.convert "
        "--saved-model {} --output model.onnx'",
        to_valid_utf8(path));
  std::string models;
  std::filesystem::directory_iterator entry(folder, failed);
  for (int seen = 0; !failed && entry != std::filesystem::directory_iterator() && seen < 1000;
       ++seen) {
    const std::string name = entry->path().filename().string();
    if (ends_with_any(name, {".onnx", ".xml"}) && models.size() < 200)
      models += (models.empty() ? "'" : ", '") + shown(name) + "'";
    entry.increment(failed);
  }
  if (models.empty()) return "is a folder that contains no models";
  return fmt::format("is a folder: load the model in it ({})", models);
}

}  // namespace scanloom
