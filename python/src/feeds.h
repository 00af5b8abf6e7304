// Feeds from a dictionary of Python values. A buffer of a known type is read in place, with its
// strides. Everything else (lists, byte-swapped arrays, types numpy lacks) is first converted by
// scanloom/_arrays.py.
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

/// A view of one Python value: an array, strings, a list for a sequence, a dict for a map, or None
/// for an empty optional. It keeps the value alive. Requires the GIL for construction and
/// destruction.
class ArrayView {
 public:
  /// `info` describes the input; nullptr if the model has no input of that name. Raises
  /// InvalidArgument if `value` cannot be read as a tensor.
  ArrayView(nb::handle value, const std::string& name, const ValueInfo* info);
  /// Takes the type of the value in ONNX's notation; "" accepts any tensor.
  ArrayView(nb::handle value, const std::string& name, std::string_view type);
  ArrayView(const ArrayView&) = delete;
  ArrayView& operator=(const ArrayView&) = delete;
  ~ArrayView();

  [[nodiscard]] const View& view() const noexcept { return view_; }

 private:
  void read(nb::handle value, const std::string& name, std::string_view type);
  void read_items(nb::handle value, const std::string& name, std::string_view type);
  void read_map(nb::handle value, const std::string& name, std::string_view type);
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

/// Returns the description of an input, or nullptr if there is no such input.
const ValueInfo* find_input(std::span<const ValueInfo> inputs, const std::string& name) noexcept;

}  // namespace scanloom::python
