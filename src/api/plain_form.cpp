#include "api/plain_form.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "ir/verify.h"
#include "passes/run.h"

namespace scanloom {

Expected<void> to_plain_form(ir::Module& module, const std::vector<std::string>& disabled,
                             Sequences sequences, KnownBranches branches) {
  constexpr std::string_view kWanted[] = {"canonicalise",   "fold_constants", "merge_common",
                                          "drop_dead_code", "simplify_ports", "sink_constants"};
  passes::RunOptions options;
  options.disabled = disabled;
  for (const passes::PassDef& pass : passes::all_passes())
    if (std::ranges::find(kWanted, pass.name) == std::end(kWanted) &&
        (sequences == Sequences::stay || pass.name != "stack_growth") &&
        (branches == KnownBranches::stay || pass.name != "inline_branch"))
      options.disabled.emplace_back(pass.name);
  SCANLOOM_TRY(const passes::RunReport report, passes::run(module, options));
  return ir::verify(module);
}

std::vector<std::string> passes_beyond_gradients() {
  constexpr std::string_view kWanted[] = {"inline_branch", "sink_constants",       "simplify_ports",
                                          "canonicalise",  "decompose_reductions", "fold_constants",
                                          "merge_common",  "drop_dead_code"};
  std::vector<std::string> others;
  for (const passes::PassDef& pass : passes::all_passes())
    if (std::ranges::find(kWanted, pass.name) == std::end(kWanted)) others.emplace_back(pass.name);
  return others;
}

}  // namespace scanloom
