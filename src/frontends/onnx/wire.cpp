#include "frontends/onnx/wire.h"

#include <protozero/varint.hpp>

#include "base/expected.h"

namespace scanloom::onnx {

using protozero::pbf_wire_type;

void Wire::give_up_caught() noexcept {
  give_up();
  try {
    throw;
  } catch (const protozero::end_of_buffer_exception&) {
    is_cut_off_ = true;
  } catch (...) {
  }
}

bool Wire::next() noexcept {
  if (!ok_) return false;
  try {
    return reader_.next();
  } catch (...) {
    give_up_caught();
    return false;
  }
}

// protozero asserts the wire type instead of reporting an error, so it is checked before every
// read.
bool Wire::expect(pbf_wire_type type) noexcept {
  if (ok_ && reader_.wire_type() == type) return true;
  give_up();
  return false;
}

std::string_view Wire::view() noexcept {
  if (!expect(pbf_wire_type::length_delimited)) return {};
  const protozero::data_view rest = reader_.data();
  try {
    const protozero::data_view bytes = reader_.get_view();
    return {bytes.data(), bytes.size()};
  } catch (...) {
    give_up_caught();
    note_length({rest.data(), rest.size()});
    return {};
  }
}

void Wire::note_length(std::string_view rest) noexcept {
  const char* at = rest.data();
  try {
    too_long_ = protozero::decode_varint(&at, at + rest.size());
  } catch (...) {
    return;  // the length itself is truncated
  }
}

std::string Wire::mistake() const {
  std::string text = fmt::format("at byte {} of its {}", size_ - reader_.length(), size_);
  if (too_long_ > 0)
    text += fmt::format(": field {} is {} bytes long, but {} are left", field(), too_long_,
                        reader_.length());
  return text;
}

std::int64_t Wire::integer() noexcept {
  if (!expect(pbf_wire_type::varint)) return 0;
  try {
    return reader_.get_int64();
  } catch (...) {
    give_up_caught();
    return 0;
  }
}

float Wire::real() noexcept {
  if (!expect(pbf_wire_type::fixed32)) return 0;
  try {
    return reader_.get_float();
  } catch (...) {
    give_up();
    return 0;
  }
}

void Wire::skip() noexcept {
  if (!ok_) return;
  try {
    reader_.skip();
  } catch (...) {
    give_up_caught();
  }
}

void Wire::append(std::vector<std::int64_t>& values) {
  each_integer([&](std::int64_t value) {
    values.push_back(value);
    return true;
  });
}

void Wire::append(std::vector<float>& values) {
  each_real<float>([&](float value) {
    values.push_back(value);
    return true;
  });
}

}  // namespace scanloom::onnx
