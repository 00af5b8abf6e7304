#include "errors.h"

#include <string>

#include "text.h"

namespace scanloom::python {

namespace {

nb::object made_by(const char* function, const Error& error) {
  nb::list notes;
  for (const std::string& note : error.notes()) notes.append(text(note));
  return nb::module_::import_("scanloom._errors")
      .attr(function)(text(code_name(error.code())), text(error.text()), notes);
}

[[noreturn]] void raise_object(const nb::object& exception) {
  PyErr_SetObject(exception.type().ptr(), exception.ptr());
  throw nb::python_error();
}

}  // namespace

nb::object to_exception(const Error& error) { return made_by("make", error); }

nb::object to_exception_of_expression(const Error& error) {
  return made_by("make_of_expression", error);
}

void raise(const Error& error) { raise_object(to_exception(error)); }

void raise_of_expression(const Error& error) { raise_object(to_exception_of_expression(error)); }

}  // namespace scanloom::python
