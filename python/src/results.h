// Results as Python objects: numpy arrays (of str for strings), lists for sequences, dicts for
// maps, None for empty optionals. An array takes over the memory of its result; it is copied only
// if the library, a stream or another result still reads it.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <scanloom/session.h>

namespace scanloom::python {

namespace nb = nanobind;

/// Makes the Python objects of one run's results. The memory of the results as they arrive and of
/// the objects made from them (copies of repeated items, strings) is limited by the run's
/// max_memory, because a short list can refer to one large tensor many times.
class Converter {
 public:
  /// `max_memory` is that of RunOptions; `results` are all that will be converted.
  Converter(std::int64_t max_memory, std::span<const Value> results);

  /// Returns writable arrays that share no memory. Takes the value so that an unshared result
  /// need not be copied. Raises LimitReached.
  nb::object to_object(Value value);

  /// Returns the bytes of the results and the objects together; 0 if the objects are the results.
  [[nodiscard]] std::int64_t bytes() const { return made_ == 0 ? 0 : held_ + made_; }

 private:
  void charge(std::size_t bytes);
  std::shared_ptr<const void> own_memory(Value& value);
  nb::list to_list(Value value);
  nb::dict to_dict(const Value& map);
  nb::object to_number(const Value& tensor, std::int64_t index);
  nb::object make_text(std::string_view bytes);
  nb::object to_text(std::string_view bytes);
  nb::object to_texts(const Value& value);
  nb::object to_array(Value value);

  std::int64_t held_;  ///< bytes of the results as they arrive
  std::int64_t made_ = 0;
  std::int64_t whole_, left_;
  bool is_measured_;  ///< whether the limit was measured or given
  /// Long strings by address and size of their bytes, which identify them.
  std::map<std::pair<const char*, std::size_t>, nb::object> texts_;
  /// The keys of the last map, which many maps in a row share, by the address of their memory.
  const void* keys_at_ = nullptr;
  nb::list keys_;
};

/// Stores what the conversion took in `owner`, a session, stream or function, for explained(),
/// instead of what an earlier one took.
void note_conversion(nb::handle owner, const Converter& converter);
/// Returns `text`, what explain() says of `owner`, with a line about the last conversion.
nb::object explained(nb::handle owner, std::string text);

}  // namespace scanloom::python
