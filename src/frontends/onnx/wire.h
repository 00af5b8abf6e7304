// Wire: reads the fields of one protobuf message in place. Everything that is wrong with the bytes
// (truncated, wrong wire type, unknown wire type) ends the reading and is remembered, so that a
// reader is a plain loop followed by one look at ok().
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

  /// Goes to the next field; false at the end and after a mistake. Every field that is met must be
  /// read by exactly one of the readers below, or skipped.
  bool next() noexcept;
  [[nodiscard]] std::uint32_t field() const noexcept { return reader_.tag(); }
  [[nodiscard]] bool ok() const noexcept { return ok_; }
  /// Where the mistake is, and what: "at byte 9 of its 50: field 7 is 90 bytes long, 41 are left".
  [[nodiscard]] std::string mistake() const;
  /// Whether the mistake is that the bytes end too early.
  [[nodiscard]] bool is_cut_off() const noexcept { return is_cut_off_; }

  /// Of a field of bytes, text or a message. Points into the bytes given.
  std::string_view view() noexcept;
  /// Of a varint: every integer, enumerator and boolean of ONNX.
  std::int64_t integer() noexcept;
  float real() noexcept;
  void skip() noexcept;

  /// Of a repeated field, packed or not: hand(value) for each of its values here. hand returns
  /// whether to go on; stopping is a mistake of the message. What hand throws (bad_alloc) goes to
  /// the caller.
  template <class Hand>
  void each_integer(Hand hand);
  template <class T, class Hand>  // float, double
  void each_real(Hand hand);
  void append(std::vector<std::int64_t>& values);
  void append(std::vector<float>& values);

 private:
  bool expect(protozero::pbf_wire_type type) noexcept;
  void give_up() noexcept { ok_ = false; }
  /// In the handler of an exception of protozero.
  void give_up_caught() noexcept;
  /// Of a field of bytes that could not be read; `rest` begins with its length.
  void note_length(std::string_view rest) noexcept;

  protozero::pbf_reader reader_;
  std::size_t size_;
  std::uint64_t too_long_ = 0;  ///< what a field says of its bytes, of which fewer are left
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
