// Plan: an optimized module and what all bindings of it share. Immutable except for its caches.
// A session makes one plan and binds it to each combination of input sizes.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/module.h"
#include "jit/interface.h"
#include "kernels/kernel.h"
#include "plan/code_cache.h"
#include "plan/latest_inference.h"
#include "plan/loop_facts.h"
#include "plan/speculation.h"
#include "plan/step_counts.h"

namespace scanloom::plan {

struct PlanOptions {
  int threads = 1;
  const jit::Plugin* compiler = nullptr;  ///< null: no loop is compiled
  bool always_compile = false;            ///< even where it does not pay
  bool always_parallel_steps = false;     ///< even for short steps; for tests
  SpeculationMode speculation = SpeculationMode::automatic;
  std::string why_no_compiler = "compilation is disabled";
};

/// Returns the minimum number of steps of one execution for which a loop that is one element
/// program is compiled.
std::int64_t min_steps(const PlanOptions& options);

/// Returns the kernels that may run a node, fastest first. The reference kernel, which always
/// comes last, is not listed.
std::span<const kernels::KernelId> candidates(const ir::OpDef& op);

/// Immutable except for what all bindings share: packed constants, compiled loops and bodies, the
/// counts of steps that ran without code, what speculation has shown, and what the latest binding
/// inferred.
struct Plan {
  ir::Module module;
  PlanOptions options;
  mutable kernels::PackCache packs;
  mutable CodeCache<std::string, jit::CompiledLoop> loops;
  /// Keyed by the complete source, compared to the last operand: with an incomplete key, or two
  /// equal fingerprints, one body's steps would run in another's code. Most comparisons end at the
  /// first statement, and none is made per step.
  mutable CodeCache<loopnest::BodySource, jit::CompiledBody> bodies;
  mutable StepCounts steps;
  mutable LoopFacts<SpeculationRecord> speculations;
  mutable LatestInference latest_inference;
};

/// Returns the loop's machine code, compiled or taken from the plan's cache. Thread safe. Errors:
/// those of the compiler, and those of `may_go_on`, after which the call may be repeated.
Expected<jit::CompiledLoop> compile_loop(const Plan& plan, const jit::LoopSource& source,
                                         const MayGoOn& may_go_on);

/// Returns the cached result of `compile_loop`, code or error; nullopt if there is none.
std::optional<Expected<jit::CompiledLoop>> find_loop(const Plan& plan,
                                                     const jit::LoopSource& source);

struct Binding;
struct BoundLoop;
struct OutlinedRegion;

/// Code that bindings share, and the parameters that one binding passes to it
/// (loopnest::parameter).
struct BodyCode {
  jit::CompiledBody code;
  std::vector<std::int64_t> parameters;
};

/// Returns machine code for the steps of a stepped loop, compiled or taken from the plan's cache.
/// Thread safe. Errors: unsupported (a node that cannot be part of machine code), those of the
/// compiler, and those of `may_go_on`, after which the call may be repeated.
Expected<BodyCode> compile_body(const Plan& plan, const Binding& binding, const BoundLoop& loop,
                                const MayGoOn& may_go_on);

/// Returns machine code for an outlined region of such steps.
Expected<BodyCode> compile_outlined_region(const Plan& plan, const Binding& binding,
                                           const OutlinedRegion& outlined,
                                           const MayGoOn& may_go_on);

/// Code that sums the time of each of its statements, and the nodes that each statement computes.
struct TimedBody {
  BodyCode body;
  std::vector<std::vector<ir::NodeId>> nodes;
};
Expected<TimedBody> compile_timed_body(const Plan& plan, const Binding& binding,
                                       const BoundLoop& loop, const MayGoOn& may_go_on);

std::shared_ptr<const Plan> make_plan(ir::Module module, const PlanOptions& options);

/// Binds the plan to feeds of these shapes. Thread safe. Errors: invalid_argument (sizes that do
/// not match the module's, naming inputs and both numbers), invalid_model, unsupported, any error
/// of shape inference, and those of `may_go_on`, which is polled while loops are compiled.
Expected<std::shared_ptr<const Binding>> bind(std::shared_ptr<const Plan> plan,
                                              std::span<const tensor::Shape> feed_shapes,
                                              const MayGoOn& may_go_on = {});

/// Returns a readable text: how the loop is executed, and why no faster strategy applies. Includes
/// code that runs have compiled since binding.
std::string describe_strategy(const Binding& binding, const BoundLoop& loop);

/// Whether machine code takes the loop's steps by now, so that its calls need not be those of the
/// list.
bool has_code_of_steps(const Binding& binding, const BoundLoop& loop);

/// Returns a readable text: whether threads compute chunks of the loop's steps ahead, what that has
/// shown so far, or why they do not. Empty where there is nothing to say of so many steps.
std::string describe_speculation(const Binding& binding, const BoundLoop& loop, std::int64_t steps);

/// Returns a readable text for each carried value: where the loop keeps it between steps.
std::vector<std::string> describe_states(const Binding& binding, const BoundLoop& loop);

/// Returns the calls of the loop's steps that the plain loops of their operators run, each with the
/// reasons of the kernels that declined it. None if machine code takes the steps.
std::vector<std::string> describe_plain_calls(const Binding& binding, const BoundLoop& loop);

/// Returns how messages name the user's node.
std::string describe(const Plan& plan, ir::NodeId node);
/// Returns the count with its noun, pluralized: "1 node", "3 nodes".
std::string counted(std::int64_t count, std::string_view one);
/// Returns the name of the loop's i-th scanned value, or that of its slices.
std::string describe_scanned(const ir::Module& module, ir::NodeId loop, std::size_t i);
/// Returns the advice for a scanned value whose number of slices differs from the number of steps.
std::string missing_slices(std::int64_t steps, std::int64_t slices);
/// Same as Module::describe_step.
std::string describe_step(const Plan& plan, ir::NodeId loop, std::int64_t step);

/// Returns a readable text: the candidate kernels of each node, and the strategies of each loop.
std::string print(const Plan& plan);
/// Returns a readable text: instructions, kernels, buffer offsets, and strategies with reasons.
std::string print(const Binding& binding);
/// Returns a readable text: the loop nests of each body that is compiled per step, and of outlined
/// regions, before the passes and after each pass that changed something (loopnest/print.h).
std::string print_nests(const Binding& binding);
/// Returns the code of every loop that is compiled, or would be after more steps, generated again:
/// each after a comment with its strategy. One line says why another loop has none. Thread safe.
std::string print_code(const Binding& binding, jit::CodeForm form);

}  // namespace scanloom::plan
