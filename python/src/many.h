// Bindings of ManyRuns: many sequences through one session.
#pragma once

#include <nanobind/nanobind.h>

namespace scanloom::python {

void bind_many(nanobind::module_& module);

}  // namespace scanloom::python
