#include "loopnest/program.h"

#include <utility>

namespace scanloom::loopnest {

using tensor::ScalarInstr;
using tensor::ScalarProgram;

std::vector<std::int32_t> append_program(ScalarProgram& to, const ScalarProgram& from,
                                         std::vector<std::int32_t> registers) {
  for (ScalarInstr instr : from.instrs) {
    for (std::int32_t& arg : instr.args)
      if (arg >= 0) arg = registers[static_cast<std::size_t>(arg)];
    registers.push_back(to.append(instr));
  }
  std::vector<std::int32_t> results;
  for (const std::int32_t result : from.results)
    results.push_back(registers[static_cast<std::size_t>(result)]);
  return results;
}

void drop_dead(ScalarProgram& program) {
  const std::size_t inputs = program.inputs.size();
  // The new numbers of registers; -1: dropped.
  std::vector<std::int32_t> registers(inputs + program.instrs.size(), -1);
  std::vector<bool> needed(registers.size());
  for (const std::int32_t result : program.results) needed[static_cast<std::size_t>(result)] = true;
  for (std::size_t i = registers.size(); i-- > inputs;)
    if (needed[i])
      for (const std::int32_t arg : program.instrs[i - inputs].args)
        if (arg >= 0) needed[static_cast<std::size_t>(arg)] = true;
  std::vector<ScalarInstr> kept;
  const auto moved = [&](std::int32_t index) { return registers[static_cast<std::size_t>(index)]; };
  for (std::size_t i = 0; i < registers.size(); ++i) {
    if (i >= inputs && !needed[i]) continue;
    registers[i] = static_cast<std::int32_t>(i < inputs ? i : inputs + kept.size());
    if (i < inputs) continue;
    kept.push_back(program.instrs[i - inputs]);
    for (std::int32_t& arg : kept.back().args)
      if (arg >= 0) arg = moved(arg);
  }
  program.instrs = std::move(kept);
  for (std::int32_t& result : program.results) result = moved(result);
}

}  // namespace scanloom::loopnest
