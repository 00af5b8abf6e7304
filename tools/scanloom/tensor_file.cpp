// TensorProto of onnx.proto, without its forms for external data and for elements under one byte.
#include "tensor_file.h"

#include <cstring>

#include <protozero/pbf_reader.hpp>

#include "element.h"
#include "failure.h"
#include "npy.h"

namespace scanloom::cli {
namespace {

enum Field : protozero::pbf_tag_type {
  kDims = 1,
  kDataType = 2,
  kFloatData = 4,
  kInt32Data = 5,
  kStringData = 6,
  kInt64Data = 7,
  kName = 8,
  kRawData = 9,
  kDoubleData = 10,
  kUint64Data = 11,
  kDataLocation = 14,
};

struct Parts {
  std::string name;
  std::vector<std::int64_t> dims;
  std::int32_t data_type = 0;
  std::string bytes;  // the elements, however the file spells them
  std::vector<std::string> texts;
};

/// Appends the values of a repeated field, whether packed or one by one, as elements of `size`
/// bytes.
template <class Single, class Packed>
void append_values(protozero::pbf_reader& reader, std::string& bytes, std::size_t size, Single one,
                   Packed packed) {
  const auto append = [&](auto value) {
    bytes.append(reinterpret_cast<const char*>(&value), std::min(size, sizeof value));
  };
  if (reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
    for (const auto value : packed()) append(value);
  } else {
    append(one());
  }
}

std::size_t element_size(const Parts& parts) {
  const auto dtype = dtype_from_onnx_number(parts.data_type);
  return dtype ? dtype_bytes(*dtype) : 4;
}

void read_field(protozero::pbf_reader& reader, Parts& parts) {
  const auto values = [&](std::size_t size, auto one, auto packed) {
    append_values(reader, parts.bytes, size, one, packed);
  };
  switch (reader.tag()) {
    case kDims:
      if (reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
        for (const std::int64_t size : reader.get_packed_int64()) parts.dims.push_back(size);
      } else {
        parts.dims.push_back(reader.get_int64());
      }
      return;
    case kDataType:
      parts.data_type = reader.get_int32();
      return;
    case kName:
      parts.name = reader.get_string();
      return;
    case kRawData:
      parts.bytes = reader.get_string();
      return;
    case kFloatData:
      return values(
          4, [&] { return reader.get_float(); }, [&] { return reader.get_packed_float(); });
    case kDoubleData:
      return values(
          8, [&] { return reader.get_double(); }, [&] { return reader.get_packed_double(); });
    case kInt32Data:  // also for the types of one and two bytes: their low bytes
      return values(
          element_size(parts), [&] { return reader.get_int32(); },
          [&] { return reader.get_packed_int32(); });
    case kInt64Data:
      return values(
          8, [&] { return reader.get_int64(); }, [&] { return reader.get_packed_int64(); });
    case kUint64Data:
      return values(
          element_size(parts), [&] { return reader.get_uint64(); },
          [&] { return reader.get_packed_uint64(); });
    case kStringData:
      parts.texts.push_back(reader.get_string());
      return;
    case kDataLocation:
      if (reader.get_enum() != 0) fail(Code::unsupported, "its data lie in another file");
      return;
    default:
      reader.skip();
  }
}

View text_view(const Parts& parts) {
  const auto count = count_elements(parts.dims);
  if (!count || static_cast<std::size_t>(*count) != parts.texts.size())
    fail(Code::invalid_argument, "it holds " + std::to_string(parts.texts.size()) + " strings, " +
                                     type_text(DType::string, parts.dims) + " needs others");
  return strings(parts.texts, parts.dims);
}

View to_view(const Parts& parts) {
  const auto dtype = dtype_from_onnx_number(parts.data_type);
  if (!dtype)
    fail(Code::invalid_argument,
         "it is not a TensorProto: element type " + std::to_string(parts.data_type));
  if (*dtype == DType::string) return text_view(parts);
  if (dtype_file_bits(*dtype) < 8)
    fail(Code::unsupported, "elements of type " + numpy_name(*dtype) + " cannot be fed");
  const std::size_t needed = bytes_needed(*dtype, parts.dims, "its tensor");
  if (parts.bytes.size() != needed)
    fail(Code::invalid_argument, "it holds " + std::to_string(parts.bytes.size()) +
                                     " bytes of data, " + type_text(*dtype, parts.dims) +
                                     " needs " + std::to_string(needed));
  Fresh fresh = make_view(*dtype, parts.dims, "its tensor");
  std::memcpy(fresh.data, parts.bytes.data(), needed);
  return fresh.view;
}

Parts read_parts(std::string_view bytes) {
  Parts parts;
  protozero::pbf_reader reader(bytes.data(), bytes.size());
  while (reader.next()) read_field(reader, parts);
  return parts;
}

}  // namespace

View parse_tensor(std::string_view bytes) { return to_view(read_parts(bytes)); }

TensorFile read_tensor_file(const std::string& path) {
  const std::string content = read_file(path);
  try {
    const Parts parts = read_parts(content);
    return {parts.name, to_view(parts)};
  } catch (const protozero::exception&) {
    fail(Code::invalid_argument, path + ": it is not a TensorProto");
  } catch (const Failure& failure) {
    throw Failure(Error(failure.error()).at(path));
  }
}

}  // namespace scanloom::cli
