#include "frontends/onnx/wire.h"

namespace scanloom::onnx {

using protozero::pbf_wire_type;

bool Wire::next() noexcept {
  if (!ok_) return false;
  try {
    return reader_.next();
  } catch (...) {
    give_up();
    return false;
  }
}

// protozero asserts the wire type instead of reporting it, so it is checked before every read.
bool Wire::expect(pbf_wire_type type) noexcept {
  if (ok_ && reader_.wire_type() == type) return true;
  give_up();
  return false;
}

std::string_view Wire::view() noexcept {
  if (!expect(pbf_wire_type::length_delimited)) return {};
  try {
    const protozero::data_view bytes = reader_.get_view();
    return {bytes.data(), bytes.size()};
  } catch (...) {
    give_up();
    return {};
  }
}

std::int64_t Wire::integer() noexcept {
  if (!expect(pbf_wire_type::varint)) return 0;
  try {
    return reader_.get_int64();
  } catch (...) {
    give_up();
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
    give_up();
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
