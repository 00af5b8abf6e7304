// Results as Python objects: numpy arrays (of str for strings), lists for sequences, None for empty
// optionals. An array takes over the memory of its result; it is copied only if the library, a
// stream or another result still reads it.
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

/// Makes the Python objects of one run's results. Their additional memory (copies of repeated
/// items, strings) is limited by the run's max_memory, because a short list can refer to one large
/// tensor many times.
class Converter {
 public:
  /// `max_memory` is that of RunOptions.
  explicit Converter(std::int64_t max_memory);

  /// Returns writable arrays that share no memory. Takes the value so that an unshared result
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
  bool is_measured_;  ///< whether the limit was measured or given
  /// Long strings by address and size of their bytes, which identify them.
  std::map<std::pair<const char*, std::size_t>, nb::object> texts_;
};

}  // namespace scanloom::python
