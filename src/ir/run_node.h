// Runs one node on whole values with its operator's reference kernel, sizes inferred from those
// values: what the interpreter does for every node, the runtime for sequences, optionals and
// strings, and constant folding for some.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/expected.h"
#include "ir/op_def.h"
#include "tensor/tensor.h"

namespace scanloom::ir {

using AllocationCheck = std::function<Expected<void>(std::int64_t bytes)>;

/// The results of `op`, in storage of their own; an absent operand is a Tensor that is not defined.
/// Errors, which do not name the node: operands that do not fit, data the kernel refuses, a result
/// of more than max_elements (limit_reached), out_of_memory; internal where the operator has no
/// reference kernel or cannot tell its sizes from its operands. `may_make`, where given, is asked
/// before memory is taken, with the bytes of all results so far, at last with the texts of strings;
/// its error is passed on. `draws` is for random
/// operators.
Expected<std::vector<tensor::Tensor>> run_node(
    const OpDef& op, std::span<const tensor::Tensor> inputs, std::span<const tensor::Attr> attrs,
    std::size_t outputs, std::int64_t max_elements = std::int64_t{1} << 40,
    const AllocationCheck& may_make = {}, tensor::SampleCounter* samples = nullptr);

/// Runs `op` on objects: its own `run_objects` where that is set, else run_node on the tensors in
/// them. All results are set and counted. Errors as run_node's, and limit_reached for memory.
Expected<void> run_on_objects(const OpDef& op, const tensor::ObjectCall& call);

}  // namespace scanloom::ir
