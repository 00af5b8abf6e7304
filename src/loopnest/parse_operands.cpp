#include "loopnest/parse_operands.h"

#include <charconv>

namespace scanloom::loopnest {
namespace {

/// More registers, statements or axes than any body has: what a number in a text may ask for.
constexpr std::int64_t kMaxIndex = 1 << 24;

}  // namespace

Expected<std::int32_t> OperandReader::index() {
  SCANLOOM_TRY(const std::int64_t value, reader_.integer());
  if (value < 0 || value > kMaxIndex)
    return reader_.error(fmt::format("{} is outside [0, {}]", value, kMaxIndex));
  return static_cast<std::int32_t>(value);
}

Expected<std::int32_t> OperandReader::slot() {
  SCANLOOM_TRY(const std::string_view name, reader_.name());
  std::int32_t value = -1;
  const char* const end = name.data() + name.size();
  const auto result = std::from_chars(name.data() + 1, end, value);
  if ((name[0] != 's' && name[0] != 'l') || result.ec != std::errc() || result.ptr != end ||
      value < 0 || value > kMaxIndex)
    return reader_.error(fmt::format("'{}' is not a slot: write s0 or l0", name));
  return name[0] == 's' ? value : local_slot(static_cast<std::size_t>(value));
}

Expected<std::int64_t> OperandReader::number() {
  if (!reader_.take('$')) return reader_.integer();
  SCANLOOM_TRY(const std::int32_t at, index());
  return parameter(static_cast<std::size_t>(at));
}

Expected<std::vector<std::int64_t>> OperandReader::numbers() {
  std::vector<std::int64_t> list;
  SCANLOOM_CHECK_OK(reader_.expect('('));
  while (!reader_.take(')')) {
    if (!list.empty()) SCANLOOM_CHECK_OK(reader_.expect(','));
    SCANLOOM_TRY(const std::int64_t value, number());
    list.push_back(value);
  }
  return list;
}

Expected<std::int32_t> OperandReader::register_use() {
  SCANLOOM_CHECK_OK(reader_.expect('%'));
  return index();
}

Expected<Access> OperandReader::access() {
  SCANLOOM_TRY(Access access, place<Access>());
  while (reader_.take_keyword("at")) {
    SCANLOOM_TRY(DynamicIndex index, place<DynamicIndex>());
    SCANLOOM_CHECK_OK(selection(index));
    access.indices.push_back(std::move(index));
  }
  return access;
}

Expected<SlotMove> OperandReader::slot_move() {
  SlotMove move;
  SCANLOOM_TRY(move.slot, slot());
  SCANLOOM_CHECK_OK(reader_.expect_keyword("by"));
  SCANLOOM_TRY(move.bytes, reader_.integer());
  return move;
}

Expected<SlotSet> OperandReader::slot_set() {
  SlotSet set;
  SCANLOOM_TRY(set.slot, slot());
  SCANLOOM_CHECK_OK(reader_.expect('='));
  SCANLOOM_TRY(set.from, slot());
  SCANLOOM_CHECK_OK(reader_.expect('+'));
  SCANLOOM_TRY(set.offset, number());
  return set;
}

}  // namespace scanloom::loopnest
