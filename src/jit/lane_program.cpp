#include "jit/lane_program.h"

#include <algorithm>
#include <numeric>

#include "jit/emit_f16.h"
#include "jit/emit_program.h"
#include "tensor/scalar_functions.h"

namespace scanloom::jit {
namespace {

using tensor::ScalarInstr;
using tensor::ScalarOp;

constexpr std::int64_t kWorkOfFunction = 30, kWorkOfF16 = 8;

std::int64_t work_of(const ScalarInstr& instr) {
  if (instr.op == ScalarOp::constant) return 0;
  if (tensor::is_written_out(instr)) return kWorkOfFunction;
  return is_half(instr.dtype) ? kWorkOfF16 : 1;
}

/// Whether LLVM computes the lanes of a vector one by one.
bool takes_lanes_apart(const tensor::ScalarProgram& program, const ScalarInstr& instr) {
  if (!tensor::divides(instr.op) || is_floating_point(instr.dtype)) return false;
  const auto divisor = static_cast<std::size_t>(instr.args[1]);
  const std::size_t inputs = program.inputs.size();
  return divisor < inputs || program.instrs[divisor - inputs].op != ScalarOp::constant;
}

}  // namespace

llvm::Value* Splats::of(llvm::IRBuilder<>& builder, llvm::Value* element, unsigned width) {
  if (width == 1) return element;
  llvm::Value*& splat = made_[{element, width}];
  if (splat == nullptr) {
    auto* const constant = llvm::dyn_cast<llvm::Constant>(element);
    const auto count = llvm::ElementCount::getFixed(width);
    splat = constant != nullptr ? llvm::ConstantVector::getSplat(count, constant)
                                : builder.CreateVectorSplat(width, element);
  }
  return splat;
}

LaneProgram::LaneProgram(const LoopSource& source)
    : program_(source.program), rows_(source.stacked.size()) {
  for (const auto* operands : {&source.captured, &source.carried, &source.scanned})
    for (const LoopOperand& operand : *operands) {
      uniform_.push_back(operand.lane_stride == 0);
      look_at_lanes(operand);
    }
  for (const LoopOperand& operand : source.stacked) look_at_lanes(operand);
  for (const ScalarInstr& instr : program_.instrs) {
    uniform_.push_back(std::ranges::all_of(instr.args, [&](std::int32_t arg) {
      return arg < 0 || uniform_[static_cast<std::size_t>(arg)];
    }));
    measure(instr, uniform_.size() - 1);
  }
  const std::size_t first_row = program_.results.size() - source.stacked.size();
  for (std::size_t i = 0; i < source.stacked.size(); ++i) {
    const auto reg = static_cast<std::size_t>(program_.results[first_row + i]);
    const bool uniform = source.stacked[i].lane_stride == 0;
    if (reg >= program_.inputs.size() && uniform_[reg] == uniform)
      rows_made_.insert({{reg, uniform}, i});
    else
      rows_not_made_.push_back(i);
  }
}

std::vector<std::size_t> LaneProgram::rows_left(bool late) const {
  if (late) return rows_not_made_;
  std::vector<std::size_t> all(rows_);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

void LaneProgram::look_at_lanes(const LoopOperand& operand) {
  if (operand.lane_stride == 0) return;
  widest_ = std::max(widest_, static_cast<unsigned>(dtype_bytes(operand.dtype)));
  lane_by_lane_ |= operand.lane_stride != 1;
  ++lane_work_;
}

void LaneProgram::measure(const ScalarInstr& instr, std::size_t reg) {
  if (uniform_[reg]) {
    uniform_work_ += work_of(instr);
    return;
  }
  lane_work_ += work_of(instr);
  widest_ = std::max(widest_, static_cast<unsigned>(dtype_bytes(instr.dtype)));
  lane_by_lane_ |= takes_lanes_apart(program_, instr);
}

std::vector<llvm::Value*> LaneProgram::emit_uniform(llvm::IRBuilder<>& builder,
                                                    std::vector<llvm::Value*> inputs,
                                                    const LateAccess* late) const {
  std::vector<llvm::Value*> registers = std::move(inputs);
  const std::size_t first = program_.inputs.size();
  registers.resize(uniform_.size());
  const auto need = [&](std::int32_t reg) {
    if (reg < 0) return;
    const auto index = static_cast<std::size_t>(reg);
    if (registers[index] == nullptr) registers[index] = late->load(index);
  };
  for (std::size_t i = 0; i < program_.instrs.size(); ++i) {
    if (!uniform_[first + i]) continue;
    for (const std::int32_t arg : program_.instrs[i].args) need(arg);
    emit_instr(builder, program_, i, registers, 1);
    if (late != nullptr) late->made(first + i, registers[first + i]);
  }
  for (const std::int32_t result : program_.results)
    if (uniform_[static_cast<std::size_t>(result)]) need(result);
  return registers;
}

std::vector<llvm::Value*> LaneProgram::emit_lanes(llvm::IRBuilder<>& builder,
                                                  const std::vector<llvm::Value*>& uniform,
                                                  const std::vector<llvm::Value*>& inputs,
                                                  unsigned width, Splats& splats,
                                                  const LateAccess* late) const {
  std::vector<llvm::Value*> registers = inputs;
  registers.resize(uniform_.size());
  const auto need = [&](std::int32_t reg) {
    if (reg < 0) return;
    const auto index = static_cast<std::size_t>(reg);
    if (registers[index] != nullptr) return;
    llvm::Value* const element = uniform_[index] ? uniform[index] : nullptr;
    llvm::Value* const value = element != nullptr ? element : late->load(index);
    registers[index] = uniform_[index] ? splats.of(builder, value, width) : value;
  };
  for (std::size_t i = 0; i < program_.instrs.size(); ++i) {
    if (uniform_[program_.inputs.size() + i]) continue;
    for (const std::int32_t arg : program_.instrs[i].args) need(arg);
    emit_instr(builder, program_, i, registers, width);
    const std::size_t made = program_.inputs.size() + i;
    if (late != nullptr) late->made(made, registers[made]);
  }
  std::vector<llvm::Value*> results;
  for (const std::int32_t result : program_.results) {
    need(result);
    results.push_back(registers[static_cast<std::size_t>(result)]);
  }
  return results;
}

}  // namespace scanloom::jit
