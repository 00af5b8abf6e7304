// A pass: a function that improves a module. list.inc says in which order the passes run; run.h is
// the only way to run them.
#pragma once

#include <span>
#include <string_view>

#include "base/expected.h"
#include "ir/module.h"

namespace scanloom::passes {

/// Whether a pass changed the module.
struct [[nodiscard]] Change {
  bool changed = false;
  Change& operator|=(Change other) {
    changed |= other.changed;
    return *this;
  }
};

/// Nodes that the pass leaves alone keep their ids. Errors: only `internal`, since the module that
/// the pass receives has been verified.
using PassFn = Expected<Change> (*)(ir::Module& module);

struct PassDef {
  std::string_view name;
  std::string_view doc;
  PassFn run;
  /// For a pass that runs last (once, when the other passes have nothing left to do): whether it is
  /// worth a copy of the module. nullptr for every other pass.
  bool (*may_change)(const ir::Module& module) = nullptr;
  /// Whether it changes the last bits of models that permit this: only with Numerics::fast.
  bool is_fast = false;

  [[nodiscard]] bool is_last() const { return may_change != nullptr; }
};

#define SCANLOOM_PASS(name, doc) Expected<Change> name(ir::Module& module);
#define SCANLOOM_LAST_PASS(name, may_change, doc) \
  Expected<Change> name(ir::Module& module);      \
  bool may_change(const ir::Module& module);
#define SCANLOOM_FAST_PASS(name, may_change, doc) SCANLOOM_LAST_PASS(name, may_change, doc)
#include "passes/list.inc"
#undef SCANLOOM_PASS
#undef SCANLOOM_LAST_PASS
#undef SCANLOOM_FAST_PASS

/// All passes, in the order in which they run.
std::span<const PassDef> all_passes();
/// Returns the pass of that name, or nullptr if there is none.
const PassDef* find_pass(std::string_view name);

}  // namespace scanloom::passes
