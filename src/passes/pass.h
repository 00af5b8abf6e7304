// A pass: a function from a module to a better one. list.inc is the order; run.h is the one door.
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

/// Nodes that a pass leaves alone keep their ids. Errors: internal, for the pass was given a module
/// that the verifier accepts.
using PassFn = Expected<Change> (*)(ir::Module& module);

struct PassDef {
  std::string_view name;
  std::string_view doc;
  PassFn run;
  /// Of one that runs last, once, when the others have nothing left to do: whether it is worth a
  /// copy of the module. nullptr for all others.
  bool (*may_change)(const ir::Module& module) = nullptr;

  [[nodiscard]] bool is_last() const { return may_change != nullptr; }
};

#define SCANLOOM_PASS(name, doc) Expected<Change> name(ir::Module& module);
#define SCANLOOM_LAST_PASS(name, may_change, doc) \
  Expected<Change> name(ir::Module& module);      \
  bool may_change(const ir::Module& module);
#include "passes/list.inc"
#undef SCANLOOM_PASS
#undef SCANLOOM_LAST_PASS

/// In the order in which they run.
std::span<const PassDef> all_passes();
/// nullptr where there is none.
const PassDef* find_pass(std::string_view name);

}  // namespace scanloom::passes
