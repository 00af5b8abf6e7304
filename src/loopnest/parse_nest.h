// Reads a nest of the text form: registers, reductions, writes.
#pragma once

#include "loopnest/loopnest.h"
#include "loopnest/parse_operands.h"
#include "tensor/text_reader.h"

namespace scanloom::loopnest {

/// Reads what follows the word "nest". Errors: invalid_model, with the line.
Expected<Nest> parse_nest(tensor::TextReader& reader);

}  // namespace scanloom::loopnest
