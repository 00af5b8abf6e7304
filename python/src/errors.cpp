#include "errors.h"

#include <string>

#include "text.h"

namespace scanloom::python {

nb::object to_exception(const Error& error) {
  nb::list notes;
  for (const std::string& note : error.notes()) notes.append(text(note));
  return nb::module_::import_("scanloom._errors")
      .attr("make")(text(code_name(error.code())), text(error.text()), notes);
}

void raise(const Error& error) {
  const nb::object exception = to_exception(error);
  PyErr_SetObject(exception.type().ptr(), exception.ptr());
  throw nb::python_error();
}

}  // namespace scanloom::python
