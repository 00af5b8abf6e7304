// Shape inference of a single node, for the driver and the builder.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ir/op_def.h"

namespace scanloom::ir {

struct NodeTypes {
  std::vector<tensor::Type> types;
  std::vector<std::shared_ptr<const Known>> known;  ///< per output; null if nothing is known
  std::uint64_t values_asked = 0;                   ///< InferCtx::values_asked()
};

/// Checks operands and attributes, runs op.infer and checks its result (ranks, sizes). types[i] is
/// null for an absent operand, known[i] may be null. Errors do not name the node. Precondition:
/// op.infer is set.
Expected<NodeTypes> infer_node(const OpDef& op, std::span<const tensor::Type* const> types,
                               std::span<const Known* const> known,
                               std::span<const tensor::Attr> attrs, std::size_t outputs,
                               tensor::DimTable& dims);

/// Error: a rank above kMaxRank, a negative size, or more than 2^40 elements.
Expected<void> check_type(const tensor::Type& type, const tensor::DimTable& dims);

/// Error: a result's size is unknown although all operands are given.
Expected<void> check_reported_sizes(const OpDef& op, std::span<const tensor::Type* const> operands,
                                    std::span<const tensor::Type> results,
                                    const tensor::DimTable& dims);

std::shared_ptr<const Known> known_tensor(tensor::Tensor value);

/// Numbers as a tensor of this integer type; nullopt if they are not all numbers.
std::optional<tensor::Tensor> tensor_of(const std::vector<tensor::Dim>& integers,
                                        const tensor::Type& type);

}  // namespace scanloom::ir
