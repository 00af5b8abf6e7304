// Binding of the report on the build and the machine.
#pragma once

#include <nanobind/nanobind.h>

namespace scanloom::python {

/// Adds environment() and environment_text().
void bind_environment(nanobind::module_& module);

}  // namespace scanloom::python
