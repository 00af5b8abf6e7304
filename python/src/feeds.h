// Feeds from a dictionary of arrays: memory that exports a buffer of a known type is read where it
// lies, with its strides; the rest (lists, byte-swapped arrays, types numpy lacks) goes through
// scanloom/_arrays.py first.
#pragma once

#include <nanobind/nanobind.h>

#include <list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <scanloom/session.h>

namespace scanloom::python {

namespace nb = nanobind;

/// A view of one Python value, valid while this lives: an array, strings, a list for a sequence, or
/// None for an empty optional. To be made and destroyed with the GIL held.
class ArrayView {
 public:
  /// `info` describes the input that the array is for; nullptr when the model has none of that
  /// name. Raises InvalidArgument where `value` cannot be read as a tensor.
  ArrayView(nb::handle value, const std::string& name, const ValueInfo* info);
  /// The same for a value of that type, as ONNX writes it; "": any tensor.
  ArrayView(nb::handle value, const std::string& name, std::string_view type);
  ArrayView(const ArrayView&) = delete;
  ArrayView& operator=(const ArrayView&) = delete;
  ~ArrayView();

  [[nodiscard]] const View& view() const noexcept { return view_; }

 private:
  void read(nb::handle value, const std::string& name, std::string_view type);
  void read_items(nb::handle value, const std::string& name, std::string_view type);
  void read_texts(nb::handle value, const std::string& name);
  bool read_buffer(nb::handle value);

  Py_buffer buffer_{};
  std::list<ArrayView> items_;
  View view_;
};

class Feeds {
 public:
  Feeds(const nb::dict& arrays, std::span<const ValueInfo> inputs);
  [[nodiscard]] std::span<const Feed> feeds() const noexcept { return feeds_; }

 private:
  std::list<std::string> names_;
  std::list<ArrayView> arrays_;
  std::vector<Feed> feeds_;
};

/// The description of an input; nullptr when there is none of that name.
const ValueInfo* find_input(std::span<const ValueInfo> inputs, const std::string& name) noexcept;

}  // namespace scanloom::python
