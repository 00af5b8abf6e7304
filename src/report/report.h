// The data of a report, put together from a model's program, its binding to input sizes, and what
// its runs have measured.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <scanloom/machine.h>
#include <scanloom/session.h>

#include "ir/module.h"
#include "plan/binding.h"
#include "report/interface.h"
#include "report/loop_measured.h"

namespace scanloom::report {

struct StreamFacts {
  std::vector<ValueInfo> states;
  bool is_named = false;  ///< states of the model or of its session, not what its loops carry
  std::string why_not;    ///< why a stream is impossible; empty: it is possible
  /// The sizes that a stream keeps, by state, in its own report; inner nullopt: the initial value.
  std::optional<std::vector<std::optional<std::vector<std::int64_t>>>> kept = {};
};

struct Facts {
  std::string title;
  const ModelInfo* info = nullptr;
  Interface interface;
  std::optional<Interface> pushed;  ///< of a stream's report: what its programs feed
  StreamFacts stream;
  const ir::Module* module = nullptr;
  const plan::Binding* binding = nullptr;  ///< null: the sizes of the inputs are not known
  std::vector<LoopMeasured> measured;      ///< by loop of the binding
  std::optional<MachineFigures> machine;   ///< nullopt: not measured
  Roofline roofline;
  std::int64_t data_bytes = -1;    ///< of the last run: report/memory.h
  const RunReport* run = nullptr;  ///< with a profile; null: nothing ran
  /// The least seconds of a run without a profile, whose clock readings take time themselves.
  std::optional<double> fastest_run;
  std::string explanation;
  std::vector<std::string> warnings;
};

/// Returns the data as JSON.
std::string data(const Facts& facts);

/// Returns the page for the data of a report, from whatever source. Errors: invalid_argument (not
/// JSON), unsupported (this library was built without the libraries that draw the page).
Expected<std::string> page(std::string_view data);

}  // namespace scanloom::report
