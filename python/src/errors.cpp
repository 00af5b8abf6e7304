#include "errors.h"

#include <string>

namespace scanloom::python {

nb::object to_exception(const Error& error) {
  nb::list notes;
  for (const std::string& note : error.notes()) notes.append(nb::str(note.c_str(), note.size()));
  const std::string_view code = code_name(error.code());
  return nb::module_::import_("scanloom._errors")
      .attr("make")(nb::str(code.data(), code.size()),
                    nb::str(error.text().c_str(), error.text().size()), notes);
}

void raise(const Error& error) {
  const nb::object exception = to_exception(error);
  PyErr_SetObject(exception.type().ptr(), exception.ptr());
  throw nb::python_error();
}

}  // namespace scanloom::python
