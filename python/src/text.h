// Strings for Python. Names come from models and may hold any bytes; bytes that are not UTF-8 are
// written as \xNN.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>
#include <vector>

namespace scanloom::python {

inline nanobind::object text(std::string_view bytes) {
  PyObject* const decoded =
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "backslashreplace");
  if (decoded == nullptr) throw nanobind::python_error();
  return nanobind::steal(decoded);
}

inline nanobind::list texts(const std::vector<std::string>& all) {
  nanobind::list listed;
  for (const std::string& one : all) listed.append(text(one));
  return listed;
}

}  // namespace scanloom::python
