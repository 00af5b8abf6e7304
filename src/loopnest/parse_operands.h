// Reads the operands of the text form: slots, numbers, accesses.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "loopnest/loopnest.h"
#include "tensor/text_reader.h"

namespace scanloom::loopnest {

/// Errors: invalid_model, with the line.
class OperandReader {
 public:
  /// `reader` must outlive it.
  explicit OperandReader(tensor::TextReader& reader) : reader_(reader) {}

  /// A count or an index; as large as any body has.
  Expected<std::int32_t> index();
  /// "s0" or "l0".
  Expected<std::int32_t> slot();
  /// A number, or a parameter: "$0".
  Expected<std::int64_t> number();
  /// "(8, 1)".
  Expected<std::vector<std::int64_t>> numbers();
  /// "%0".
  Expected<std::int32_t> register_use();

  Expected<Access> access();
  /// An Access without indices, or a DynamicIndex, up to the closing bracket.
  template <class Place>
  Expected<Place> place() {
    Place place;
    SCANLOOM_TRY(place.dtype, reader_.dtype());
    SCANLOOM_TRY(place.slot, slot());
    SCANLOOM_CHECK_OK(reader_.expect('['));
    SCANLOOM_TRY(place.offset, reader_.integer());
    if (reader_.take('+')) {
      SCANLOOM_TRY(place.strides, numbers());
    }
    SCANLOOM_CHECK_OK(reader_.expect(']'));
    return place;
  }
  /// "* bytes < size", of a DynamicIndex or a DynamicSlice.
  template <class Index>
  Expected<void> selection(Index& index) {
    SCANLOOM_CHECK_OK(reader_.expect('*'));
    SCANLOOM_TRY(index.bytes, number());
    SCANLOOM_CHECK_OK(reader_.expect('<'));
    SCANLOOM_TRY(index.size, number());
    return {};
  }

  /// "s1 by 4".
  Expected<SlotMove> slot_move();
  /// "s1 = s0 + 4".
  Expected<SlotSet> slot_set();

 private:
  tensor::TextReader& reader_;
};

}  // namespace scanloom::loopnest
