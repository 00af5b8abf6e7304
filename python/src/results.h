// Results as Python objects: numpy arrays that own the memory of the result (nothing is copied
// unless the library, a stream or another result still reads that memory), lists of them for
// sequences, None for empty optionals, arrays of str for strings.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include <scanloom/session.h>

namespace scanloom::python {

namespace nb = nanobind;

/// Makes the objects of one run's results. What they need beside the results' own memory (copies of
/// what occurs twice, texts) may be as much as the run might take: a short list can refer to one
/// large tensor many times.
class Converter {
 public:
  /// `max_memory` as in RunOptions.
  explicit Converter(std::int64_t max_memory);

  /// Arrays are writable and share no memory. Takes the value, so that a result nobody else holds
  /// need not be copied. Raises LimitReached.
  nb::object to_object(Value value);

 private:
  void charge(std::size_t bytes);
  std::shared_ptr<const void> own_memory(Value& value);
  nb::list to_list(Value value);
  nb::object to_text(std::string_view bytes);
  nb::object to_texts(const Value& value);
  nb::object to_array(Value value);

  std::int64_t whole_, left_;
  bool is_measured_;  ///< or given
  /// Long texts by the place of their bytes, which no other text of these results has.
  std::map<std::pair<const char*, std::size_t>, nb::object> texts_;
};

}  // namespace scanloom::python
