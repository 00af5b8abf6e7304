// The .npy format: https://github.com/numpy/numpy/blob/main/numpy/lib/format.py
#include "npy.h"

#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "element.h"
#include "failure.h"
#include "npy_format.h"
#include "npy_text.h"
#include "output_file.h"

namespace scanloom::cli {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);

struct DescrRow {
  std::string_view descr;  // without the byte order
  DType dtype;
};
// The first row of a type is how it is written. numpy has no name for bfloat16, which is two raw
// bytes; one raw byte may be any of the small types (see as_declared).
constexpr DescrRow kDescrs[] = {
    {"f4", DType::f32},     {"f8", DType::f64}, {"f2", DType::f16},   {"V2", DType::bf16},
    {"i1", DType::i8},      {"i2", DType::i16}, {"i4", DType::i32},   {"i8", DType::i64},
    {"u1", DType::u8},      {"u2", DType::u16}, {"u4", DType::u32},   {"u8", DType::u64},
    {"b1", DType::boolean}, {"c8", DType::c64}, {"c16", DType::c128}, {"i1", DType::i4},
    {"i1", DType::i2},      {"u1", DType::u4},  {"u1", DType::u2},    {"u1", DType::u1},
    {"V1", DType::u8},      {"f1", DType::u8},
};

[[noreturn]] void bad(const std::string& name, const std::string& why) {
  fail(Code::invalid_argument, name + ": " + why);
}

/// Returns the text after `key` and blanks in the header, a Python dictionary of fixed form.
std::string_view field(std::string_view header, std::string_view key, const std::string& name) {
  const std::size_t at = header.find("'" + std::string(key) + "':");
  if (at == std::string_view::npos) bad(name, "its header has no '" + std::string(key) + "'");
  std::string_view rest = header.substr(at + key.size() + 3);
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  return rest;
}

/// Returns the element type, for example "<f4".
std::string_view descr_field(std::string_view header, const std::string& name) {
  const std::string_view text = field(header, "descr", name);
  const std::size_t end =
      text.empty() || text.front() != '\'' ? std::string_view::npos : text.find('\'', 1);
  if (end == std::string_view::npos || end < 3) bad(name, "its elements are not numbers");
  const std::string_view descr = text.substr(1, end - 1);
  if (descr.front() == '>')
    bad(name, "its elements '" + std::string(descr) +
                  "' are big-endian; convert them with .astype('<" + std::string(descr.substr(1)) +
                  "')");
  return descr;
}

DType dtype_of(std::string_view descr, const std::string& name) {
  for (const DescrRow& row : kDescrs)
    if (row.descr == descr.substr(1)) return row.dtype;
  bad(name, "elements of type '" + std::string(descr) + "' cannot be fed");
}

View parse_numbers(std::string_view data, DType dtype, const std::vector<std::int64_t>& shape,
                   const std::string& name) {
  const std::size_t needed = bytes_needed(dtype, shape, name);
  if (data.size() < needed)
    bad(name, "it holds " + std::to_string(data.size()) + " bytes of data, " +
                  type_text(dtype, shape) + " needs " + std::to_string(needed));
  Fresh fresh = make_view(dtype, shape, name);
  std::memcpy(fresh.data, data.data(), needed);
  return fresh.view;
}

std::vector<std::int64_t> shape_field(std::string_view header, const std::string& name) {
  std::string_view text = field(header, "shape", name);
  const std::size_t end = text.find(')');
  if (text.empty() || text.front() != '(' || end == std::string_view::npos)
    bad(name, "its header has no shape");
  std::vector<std::int64_t> shape;
  std::istringstream sizes{std::string(text.substr(1, end - 1))};
  for (std::string size; std::getline(sizes, size, ',');) {
    if (size.find_first_not_of(' ') == std::string::npos) continue;
    try {
      shape.push_back(std::stoll(size));
    } catch (const std::exception&) {
      bad(name, "its header has a size '" + size + "'");
    }
  }
  return shape;
}

std::string descr_of(DType dtype) {
  for (const DescrRow& row : kDescrs)
    if (row.dtype == dtype)
      return (dtype_bytes(dtype) == 1 || row.descr[0] == 'V' ? "|" : "<") + std::string(row.descr);
  // float8 and similar types: numpy stores them as raw bytes.
  return "|V" + std::to_string(dtype_bytes(dtype));
}

/// Formats the reason of the last system call that failed.
std::string reason() { return errno == 0 ? "" : std::string(": ") + std::strerror(errno); }

}  // namespace

std::string read_file(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  if (!file || !(bytes << file.rdbuf())) {
    if (file && file.peek() == std::ifstream::traits_type::eof()) return {};
    fail(Code::not_found, "cannot read " + path + reason());
  }
  return std::move(bytes).str();
}

View parse_npy(std::string_view bytes, const std::string& name) {
  if (bytes.size() < 12 || bytes.substr(0, 6) != kMagic) bad(name, "it is not a .npy file");
  const bool is_long = bytes[6] >= 2;
  std::size_t header_size = 0;
  for (int i = is_long ? 3 : 1; i >= 0; --i)
    header_size =
        header_size << 8 | static_cast<unsigned char>(bytes[8 + static_cast<std::size_t>(i)]);
  const std::size_t begin = is_long ? 12 : 10;
  if (header_size > bytes.size() - begin) bad(name, "its header is truncated");
  const std::string_view header = bytes.substr(begin, header_size);
  const std::string_view descr = descr_field(header, name);
  const std::vector<std::int64_t> shape = shape_field(header, name);
  const std::string_view data = bytes.substr(begin + header_size);
  const std::size_t letters = letters_of(descr.substr(1));
  View tensor = letters > 0 ? parse_texts(data, letters, shape, name)
                            : parse_numbers(data, dtype_of(descr, name), shape, name);
  if (field(header, "fortran_order", name).substr(0, 4) == "True") {
    std::int64_t stride = 1;
    for (const std::int64_t size : tensor.shape) {
      tensor.strides.push_back(stride);
      stride *= size;
    }
  }
  return tensor;
}

View read_npy(const std::string& path) { return parse_npy(read_file(path), path); }

std::string format_npy(const View& tensor) {
  const bool is_text = tensor.dtype == DType::string;
  const FormattedTexts texts = is_text ? format_texts(tensor) : FormattedTexts();
  std::string shape;
  for (const std::int64_t size : tensor.shape) shape += std::to_string(size) + ",";
  std::string header = "{'descr': '" + (is_text ? texts.descr : descr_of(tensor.dtype)) +
                       "', 'fortran_order': False, 'shape': (" + shape + "), }";
  // The data start at a multiple of 64 bytes, after a line feed.
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  std::string bytes(kMagic);
  bytes += {'\x01', '\x00', static_cast<char>(header.size() & 0xff),
            static_cast<char>(header.size() >> 8)};
  bytes += header;
  if (is_text) return bytes + texts.data;
  const std::int64_t count = count_elements(tensor.shape).value_or(0);
  for (std::int64_t i = 0; i < count; ++i)
    bytes.append(reinterpret_cast<const char*>(element_at(tensor, i)), dtype_bytes(tensor.dtype));
  return bytes;
}

void write_npy(const std::string& path, const View& tensor) {
  write_file(path, format_npy(tensor));
}

}  // namespace scanloom::cli
