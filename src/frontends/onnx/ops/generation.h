// The loop of GreedySearch, Sampling and BeamSearch of com.microsoft. Each step runs the decoder, a
// graph of the model, on the tokens that were chosen last, and appends one token to each sequence.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "frontends/onnx/body.h"
#include "frontends/onnx/ops/token_scores.h"

namespace scanloom::onnx {

/// The operands of the search before the first step; values of the node's region.
struct Prompt {
  ir::ValueId tokens;     ///< [sequences, length]
  ir::ValueId mask;       ///< [sequences, length], 0 where padding is
  ir::ValueId positions;  ///< [sequences, length]
  ir::ValueId next;       ///< [sequences, 1]: the positions of the first new tokens
};

/// Reads the tokens (input 0) and their mask, which is derived from the padding if the input is
/// absent, and repeats them for each beam (a scalar; invalid for one).
Prompt read_prompt(Composer& c, int mask_input, std::int64_t padding, ir::ValueId beams);

/// Returns an operand of one number as a scalar, or `fallback` if the input is absent: i64, or f32
/// if the operand is floating-point.
ir::ValueId single_number(Composer& c, int input, ir::ValueId fallback);

/// Returns an operand that is a mask of tokens; invalid if absent. Error: another number of axes.
ir::ValueId vocabulary_mask(Composer& c, int input, int axes);

/// The state of a step, as values of the loop's region.
struct GenerationStep {
  std::vector<ir::ValueId> captured;  ///< as given to Generation
  ir::ValueId first;                  ///< a boolean scalar
  ir::ValueId logits;                 ///< [sequences, positions, vocabulary]
  ir::ValueId sequences;              ///< the tokens so far
  std::vector<ir::ValueId> carried;   ///< as given to Generation
};

/// The decision of a step.
struct GenerationChoice {
  ir::ValueId tokens;   ///< [sequences]
  ir::ValueId origin;   ///< [sequences]: which sequence each continues; invalid for its own
  ir::ValueId goes_on;  ///< a boolean scalar: whether there is a next step
  std::vector<ir::ValueId> carried, stacked;
};

struct Generation {
  Prompt prompt;
  ir::ValueId max_length;                      ///< a scalar
  std::vector<ir::ValueId> captured, carried;  ///< values of the node's region
  std::function<GenerationChoice(Composer&, const GenerationStep&)> choose;
  /// Sets the outputs of the node, given the final sequences, then the carried values, then the
  /// stacks of the steps, from the node's region.
  std::function<Expected<void>(Composer&, const std::vector<ir::ValueId>&)> finish;
};

/// Makes the loop and requests attribute `decoder` to be read as its body. Errors: its inputs are
/// not tokens, positions, mask and states, its outputs not logits and as many states.
Expected<void> open_generation(NodeCtx& ctx, Generation generation);

/// The attributes that all these operators have.
struct GenerationAttributes {
  std::int64_t end = 0, padding = 0, no_repeat = 0, vocabulary = -1;
};

/// Errors (unsupported): an encoder, or a decoder of its own for the first step.
GenerationAttributes generation_attributes(Composer& c);

}  // namespace scanloom::onnx
