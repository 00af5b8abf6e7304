// Returns the report on the build and the machine as a dictionary, with the keys of
// `scanloom version --json`.
#include "environment.h"

#include <scanloom/environment.h>

#include "errors.h"
#include "gil.h"
#include "text.h"

namespace nb = nanobind;

namespace scanloom::python {
namespace {

nb::dict plain(const Environment::Plugin& plugin) {
  nb::dict row;
  if (plugin.holds.empty()) {
    row["missing"] = text(plugin.why_not);
  } else {
    row["holds"] = text(plugin.holds);
    row["path"] = text(plugin.path);
  }
  return row;
}

Environment found() {
  return value_or_raise([&] {
    const GilRelease unlocked;
    return environment();
  }());
}

nb::dict environment_as_dict() {
  const Environment about = found();
  nb::dict row, settings;
  for (const auto& [name, value] : about.settings) settings[text(name)] = text(value);
  row["version"] = text(about.version);
  row["library"] = text(about.library);
  row["build"] = text(about.build);
  row["compiler"] = text(about.compiler);
  row["loop_compiler"] = plain(about.loop_compiler);
  row["images"] = plain(about.images);
  row["isa"] = text(about.isa);
  row["isas"] = texts(about.isas);
  row["threads"] = about.threads;
  row["cores"] = about.cores;
  row["cpu"] = text(about.cpu);
  row["architecture"] = text(about.architecture);
  row["system"] = text(about.system);
  row["kernel"] = text(about.kernel);
  row["c_library"] = text(about.c_library);
  row["calibration"] = text(about.calibration);
  row["is_calibrated"] = about.is_calibrated;
  row["settings"] = settings;
  row["warnings"] = texts(about.warnings);
  return row;
}

nb::object environment_as_text() { return text(value_or_raise(to_text(found()))); }

}  // namespace

void bind_environment(nb::module_& module) {
  module.def("environment", &environment_as_dict);
  module.def("environment_text", &environment_as_text);
}

}  // namespace scanloom::python
