// Wire: reads the fields of one protobuf message in place. Malformed bytes (truncated, wrong or
// unknown wire type) end the reading and are remembered, so a reader is a plain loop followed by
// one check of ok().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <protozero/pbf_reader.hpp>

namespace scanloom::onnx {

class Wire {
 public:
  explicit Wire(std::string_view bytes) noexcept
      : reader_(bytes.data(), bytes.size()), size_(bytes.size()) {}

  /// Advances to the next field; false at the end and after a mistake. Every field must be read by
  /// exactly one of the readers below, or skipped.
  bool next() noexcept;
  [[nodiscard]] std::uint32_t field() const noexcept { return reader_.tag(); }
  [[nodiscard]] bool ok() const noexcept { return ok_; }
  /// Describes the mistake and its position: "at byte 9 of its 50: field 7 is 90 bytes long, 41 are
  /// left".
  [[nodiscard]] std::string mistake() const;
  /// Whether the mistake is that the bytes end too early.
  [[nodiscard]] bool is_cut_off() const noexcept { return is_cut_off_; }

  /// Reads a field of bytes, text or a message. The view points into the bytes given.
  std::string_view view() noexcept;
  /// Reads a varint: every integer, enumerator and boolean of ONNX.
  std::int64_t integer() noexcept;
  float real() noexcept;
  void skip() noexcept;

  /// Reads a repeated field, packed or not, and calls hand(value) for each value. `hand` returns
  /// whether to continue; stopping makes the message malformed. Exceptions from `hand` (bad_alloc)
  /// propagate to the caller.
  template <class Hand>
  void each_integer(Hand hand);
  template <class T, class Hand>  // float, double
  void each_real(Hand hand);
  void append(std::vector<std::int64_t>& values);
  void append(std::vector<float>& values);

 private:
  bool expect(protozero::pbf_wire_type type) noexcept;
  void give_up() noexcept { ok_ = false; }
  /// Must be called in the handler of a protozero exception.
  void give_up_caught() noexcept;
  /// Notes the length of a bytes field that could not be read. `rest` begins with that length.
  void note_length(std::string_view rest) noexcept;

  protozero::pbf_reader reader_;
  std::size_t size_;
  std::uint64_t too_long_ = 0;  ///< the size a field claims, with fewer bytes left
  bool ok_ = true;
  bool is_cut_off_ = false;
};

template <class Hand>
void Wire::each_integer(Hand hand) {
  if (!ok_) return;
  if (reader_.wire_type() == protozero::pbf_wire_type::varint) {
    if (!hand(integer())) give_up();
    return;
  }
  if (!expect(protozero::pbf_wire_type::length_delimited)) return;
  try {
    for (const std::int64_t value : reader_.get_packed_int64())
      if (!hand(value)) return give_up();
  } catch (const protozero::exception&) {
    give_up();
  }
}

template <class T, class Hand>
void Wire::each_real(Hand hand) {
  if (!ok_) return;
  constexpr bool kIsFloat = sizeof(T) == 4;
  constexpr auto kSingle =
      kIsFloat ? protozero::pbf_wire_type::fixed32 : protozero::pbf_wire_type::fixed64;
  try {
    if (reader_.wire_type() == kSingle) {
      T value;
      if constexpr (kIsFloat)
        value = reader_.get_float();
      else
        value = reader_.get_double();
      if (!hand(value)) give_up();
      return;
    }
    if (!expect(protozero::pbf_wire_type::length_delimited)) return;
    const auto hand_all = [&](auto range) {
      for (const T value : range)
        if (!hand(value)) return give_up();
    };
    if constexpr (kIsFloat)
      hand_all(reader_.get_packed_float());
    else
      hand_all(reader_.get_packed_double());
  } catch (const protozero::exception&) {
    give_up();
  }
}

}  // namespace scanloom::onnx
