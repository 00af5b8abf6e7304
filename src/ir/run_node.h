// Runs one node on whole values with its operator's reference kernel, inferring sizes from those
// values: for every node in the interpreter, for sequences, optionals and strings in the runtime,
// and for some nodes in constant folding.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/expected.h"
#include "ir/op_def.h"
#include "tensor/tensor.h"

namespace scanloom::ir {

using AllocationCheck = std::function<Expected<void>(std::int64_t bytes)>;

/// Returns the results of `op`, in storage of their own; an absent operand is an undefined Tensor.
/// If given, `may_make` is called before memory is allocated, with the bytes of all results so far,
/// finally including the texts of strings; its error is passed on. `samples` is for random
/// operators; the kernel polls `stop`. Errors, without the node's name: operands that do not fit,
/// data that the kernel refuses, a result of more than max_elements (limit_reached), out_of_memory;
/// internal if the operator has no reference kernel or its sizes do not follow from its operands.
Expected<std::vector<tensor::Tensor>> run_node(
    const OpDef& op, std::span<const tensor::Tensor> inputs, std::span<const tensor::Attr> attrs,
    std::size_t outputs, std::int64_t max_elements = std::int64_t{1} << 40,
    const AllocationCheck& may_make = {}, tensor::SampleCounter* samples = nullptr,
    tensor::StopToken* stop = nullptr);

/// Runs `op` on objects: its own `run_objects` if set, else run_node on the tensors in them. Sets
/// and counts all results. Errors: those of run_node, and limit_reached for memory.
Expected<void> run_on_objects(const OpDef& op, const tensor::ObjectCall& call);
/// The same, while the kernel polls `stop`, which may be null. Error: also cancelled.
Expected<void> run_on_objects(const OpDef& op, const tensor::ObjectCall& call,
                              tensor::StopToken* stop);

}  // namespace scanloom::ir
