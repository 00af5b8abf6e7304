// How a session runs many sequences: what of its stream form has the steps and the batch on which
// axis, or why sequences run one by one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "api/impl.h"
#include "base/refusal.h"
#include "ir/step_rules.h"
#include "passes/streaming/lane_axes.h"
#include "passes/streaming/padded_form.h"
#include "tensor/tensor.h"

namespace scanloom {

/// Bindings of a form with lanes: runs have few different numbers of lanes and, in pieces, powers
/// of two as their steps; padded batches have 16 numbers of steps for each power of two.
inline constexpr std::size_t kBindingsOfLanes = 128;

/// An input of the model, which the sequences feed.
struct ManyInput {
  std::optional<int> steps;                  ///< the axis of the steps in the model's input
  std::optional<int> lane;                   ///< the axis of the lanes in the argument
  std::optional<std::size_t> argument = {};  ///< of the stream form
  std::optional<std::size_t> initial = {};   ///< the input of `initial`
  std::vector<std::int64_t> sizes = {};      ///< that a lane must have; -1: any
};

/// A value that a lane carries from one run to the next.
struct ManyState {
  std::size_t argument = 0, yield = 0;
  int lane = 0;
  std::optional<std::size_t> fed;       ///< the model's input that begins it
  std::optional<std::size_t> computed;  ///< the result of `initial` that begins it
  tensor::Tensor initial;               ///< otherwise: its value in one lane
};

/// An output of the model.
struct ManyOutput {
  ir::StepFlow::Kind kind = ir::StepFlow::Kind::same;
  int steps = 0;  ///< the axis in the model's output, if kind is `along`
  std::int64_t each = 1;
  std::optional<int> lane;  ///< in what a run of lanes gives
  /// In padded batches: whether padding comes first along the steps, and not after them.
  bool pads_front = false;
};

struct ManyProgram {
  /// Whether sequences can be cut where they are reset. If not, `why_not_cut` says why.
  bool has_steps = false;
  std::string why_not_cut;
  /// Whether the steps that the model's loops walk along are the rows of a batch, with loops along
  /// the steps of sequences inside. They have no lanes and are no steps of sequences.
  bool walks_rows = false;
  /// Why there are no lanes; empty if there are.
  std::string reason, node;
  /// Whether passes sum over the steps of a sequence as a whole, so that neither pieces nor lanes
  /// have its bits: sequences run one by one.
  bool sums_at_once = false;
  /// Whether whole sequences of similar lengths share a run instead, padded to the longest
  /// (passes/streaming/padded_form.h). They have no states; `steps` has the length as one more
  /// input, with an axis of lanes. If not and there is a reason, sequences run one by one.
  bool pads = false;
  /// Whether the lanes are an axis that the model's values do not have; otherwise they are its
  /// batch, which has one row in each sequence.
  bool adds_axis = false;
  /// By own input: whether lanes take its value to be the same for all sequences. Empty: that does
  /// not matter.
  std::vector<bool> common;

  std::vector<ManyInput> inputs;    ///< by own input of the model
  std::vector<ManyOutput> outputs;  ///< by own output of the model
  std::vector<ManyState> states;
  std::shared_ptr<Session::Impl> steps;    ///< the form with lanes, for one thread
  std::shared_ptr<Session::Impl> initial;  ///< computes first values; null: there are none
  bool initial_varies = false;             ///< whether it reads more of its inputs than sizes
  std::int64_t bytes_of_step = 0;          ///< of inputs and outputs in one lane, as far as known

  [[nodiscard]] bool has_lanes() const { return pads || reason.empty(); }
  /// Whether lanes take steps that do not depend on each other.
  [[nodiscard]] bool carries_nothing() const { return has_lanes() && !pads && states.empty(); }
  /// The sizes of one sequence's value as those of one lane.
  [[nodiscard]] tensor::Shape in_lane(tensor::Shape own, std::optional<int> lane) const {
    if (adds_axis && lane) own.insert(*lane, 1);
    return own;
  }
  /// The axis of the steps where there are lanes.
  [[nodiscard]] int steps_in_lanes(int steps, std::optional<int> lane) const {
    return steps + (adds_axis && lane && *lane <= steps ? 1 : 0);
  }
};

/// Returns the program for padded batches; if there is none, it says why not. `common`: as in
/// ManyProgram. Errors: out_of_memory.
[[nodiscard]] Expected<std::shared_ptr<ManyProgram>> padded_program(
    const Session::Impl& model, const std::vector<bool>& common);
/// Returns the form that it is made from, of the model as written or, if that has none, after
/// passes. `from` becomes the module that a refusal's node is in.
[[nodiscard]] std::variant<passes::PaddedForm, Refusal> padded_form(
    const Session::Impl& model, std::optional<ir::Module>& from);
/// Names a node, or what it depends on, and the loops and branches that it is in.
[[nodiscard]] std::string describe_inside(const ir::Module& module, ir::NodeId id);
/// Whether all values of an input or output are tensors of numbers with known axes.
[[nodiscard]] bool is_plain(const ValueInfo& info);
/// Bytes of one step: the product of the sizes that are known.
[[nodiscard]] std::int64_t bytes_of_step(const ValueInfo& info);

}  // namespace scanloom
