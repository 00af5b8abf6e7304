#include "jit/reduction_terms.h"

#include <utility>

#include "jit/emit_memory.h"
#include "jit/emit_program.h"

namespace scanloom::jit {

using loopnest::Access;

llvm::Value* ReductionTerms::first_term(std::size_t reduction) {
  std::vector<Value> first(site_.index.begin(), site_.index.end());
  first.resize(first.size() + at(reduction).sizes.size(), builder_.getInt64(0));
  return terms(reduction, load(reduction, first))[0];
}

std::vector<llvm::Value*> ReductionTerms::load(std::size_t reduction,
                                               std::span<const Value> index) {
  std::vector<Value> inputs;
  for (std::size_t read = 0; read < at(reduction).reads.size(); ++read)
    inputs.push_back(load(reduction, read, index));
  return inputs;
}

llvm::Value* ReductionTerms::load(std::size_t reduction, std::size_t read,
                                  std::span<const Value> index) {
  const Access& operand = at(reduction).reads[read];
  return load_lanes(builder_, operand.dtype, address(reduction, read, index),
                    {site_.target.parameters, lane_stride(site_.nest, operand)}, site_.width);
}

std::vector<llvm::Value*> ReductionTerms::load_transposed(std::size_t reduction, std::size_t read,
                                                          std::span<const Value> index) {
  const Access& operand = at(reduction).reads[read];
  Value const bytes = builder_.CreateMul(
      number_of(builder_, site_.target.parameters, lane_stride(site_.nest, operand)),
      builder_.getInt64(dtype_bytes(operand.dtype)));
  Value const first = address(reduction, read, index);
  std::vector<Value> rows;
  for (unsigned lane = 0; lane < site_.width; ++lane) {
    Value const row =
        add_bytes(builder_, first, builder_.CreateMul(bytes, builder_.getInt64(lane)));
    rows.push_back(load_lanes(builder_, operand.dtype, row, 1, site_.width));
  }
  return transpose(builder_, std::move(rows));
}

std::vector<llvm::Value*> ReductionTerms::terms(std::size_t reduction,
                                                const std::vector<Value>& inputs) {
  const tensor::ScalarProgram& program = at(reduction).program;
  const std::vector<Value> registers = emit_program(builder_, program, inputs, site_.width);
  std::vector<Value> results;
  for (const std::int32_t result : program.results)
    results.push_back(registers[static_cast<std::size_t>(result)]);
  return results;
}

llvm::Value* ReductionTerms::address(std::size_t reduction, std::size_t read,
                                     std::span<const Value> index) {
  return element_address(builder_, site_.target.parameters, at(reduction).reads[read],
                         site_.bases[reduction][read], index);
}

}  // namespace scanloom::jit
