#include "loopnest/run.h"

#include <algorithm>
#include <chrono>

#include "base/unknown_name.h"
#include "loopnest/print.h"
#include "loopnest/verify.h"

namespace scanloom::loopnest {
namespace {

constexpr NestPass kNestPasses[] = {
#define SCANLOOM_NEST_PASS(name, stage, doc) {#name, doc, Stage::stage, &name},
#include "loopnest/list.inc"
#undef SCANLOOM_NEST_PASS
};

Expected<void> check_names(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (std::ranges::find(kNestPasses, name, &NestPass::name) != std::end(kNestPasses)) continue;
    std::vector<std::string> known;
    for (const NestPass& pass : kNestPasses) known.emplace_back(pass.name);
    return unknown_name("loop-nest pass", "passes", name, known);
  }
  return {};
}

}  // namespace

std::span<const NestPass> all_nest_passes() { return kNestPasses; }

BodySource source_of(const BodyParts& body) {
  BodySource source = body.source;
  for (const Part& part : body.parts) source.statements.push_back(part.statement);
  return source;
}

Expected<std::vector<NestPassTiming>> run(BodyParts& body, Stage stage,
                                          const NestRunOptions& options) {
  SCANLOOM_CHECK_OK(check_names(options.disabled));
  if (options.verify_each)
    if (auto sound = verify(source_of(body)); !sound)
      return std::move(sound).error().note("before the passes over loop nests");
  std::vector<NestPassTiming> timings;
  for (const NestPass& pass : kNestPasses) {
    if (pass.stage != stage ||
        std::ranges::find(options.disabled, pass.name) != options.disabled.end())
      continue;
    const std::string before = options.dump ? print(source_of(body)) : std::string();
    const auto begin = std::chrono::steady_clock::now();
    pass.run(body);
    const auto took = std::chrono::steady_clock::now() - begin;
    timings.push_back(
        {pass.name, std::chrono::duration_cast<std::chrono::nanoseconds>(took).count()});
    if (options.verify_each)
      if (auto sound = verify(source_of(body)); !sound)
        return std::move(sound).error().note(fmt::format("after pass {}", pass.name));
    if (options.dump) options.dump(pass, before, print(source_of(body)));
  }
  return timings;
}

}  // namespace scanloom::loopnest
