// What the passes did with a model, in words.

#include "api/guard.h"
#include "api/impl.h"
#include "api/line_changes.h"
#include "ir/op_def.h"
#include "ir/print.h"
#include "ir/size_names.h"
#include "ir/walk.h"
#include "passes/run.h"

namespace scanloom {
namespace {

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// Counts of a module's contents.
struct Size {
  std::size_t nodes = 0, loops = 0, ports = 0;

  explicit Size(const ir::Module& module) {
    for (const ir::RegionId region : ir::regions_outer_first(module, module.top()))
      for (const ir::NodeId id : module.region(region).nodes) add(module.node(id));
  }

  [[nodiscard]] std::string text() const {
    return fmt::format("{}, {}, {}", counted(nodes, "node"), counted(loops, "loop"),
                       counted(ports, "port"));
  }

 private:
  void add(const ir::Node& node) {
    ++nodes;
    if (node.op != &ir::loop_op) return;
    ++loops;
    ports += node.loop->captured + node.loop->carried + node.loop->scanned.size() +
             node.loop->stacked.size();
  }
};

/// Records the passes while they run.
class Recorder {
 public:
  explicit Recorder(const ir::Module& module)
      : size_(module), names_(module), text_(names_.in(print(module))) {}

  void changed(const passes::PassDef& pass, int round, const ir::Module& module) {
    const Size size(module);
    names_.add(module);
    std::string text = names_.in(print(module));
    report_ += pass.is_last() ? "// last" : fmt::format("// round {}", round + 1);
    report_ += fmt::format(": {}: from {} to {}\n", pass.name, size_.text(), size.text());
    report_ += line_changes(text_, text);
    size_ = size;
    text_ = std::move(text);
  }

  std::string finish(const passes::RunReport& report, const passes::RunOptions& options) {
    std::int64_t nanoseconds = 0;
    for (const passes::PassTiming& timing : report.timings) nanoseconds += timing.nanoseconds;
    report_ += fmt::format("// {}{}, {} in passes\n",
                           counted(static_cast<std::size_t>(report.rounds), "round"),
                           report.settled ? "" : " (the limit)", milliseconds(nanoseconds));
    std::string idle;
    for (const passes::PassTiming& timing : report.timings)
      if (timing.changed > 0)
        report_ += fmt::format("//   {:<22} changed something {}, {}\n", timing.pass,
                               times(timing.changed), milliseconds(timing.nanoseconds));
      else if (!passes::is_left_out(*passes::find_pass(timing.pass), options))
        idle += (idle.empty() ? "" : ", ") + std::string(timing.pass);
    if (!idle.empty()) report_ += fmt::format("// nothing to do for {}\n", idle);
    return std::move(report_);
  }

 private:
  static std::string print(const ir::Module& module) {
    return ir::print(module, {.locations = true, .by_id = true});
  }
  static std::string milliseconds(std::int64_t nanoseconds) {
    return fmt::format("{:.3g} ms", static_cast<double>(nanoseconds) * 1e-6);
  }
  static std::string times(int count) {
    return count == 1 ? "once" : counted(static_cast<std::size_t>(count), "time");
  }

  Size size_;
  ir::SizeNames names_;
  std::string text_;
  std::string report_;
};

}  // namespace

Expected<std::string> Session::passes() const {
  return guard([&]() -> Expected<std::string> {
    const SessionOptions& options = impl_->options;
    if (!options.optimize) return std::string("// no passes: the session does not optimise\n");
    SCANLOOM_TRY(ir::Module module, impl_->before_passes());
    module = ir::compact(module);  // renumbered, so that ids are the numbers shown by ir(false)
    Recorder recorder(module);
    passes::RunOptions run_options;
    run_options.disabled = options.disabled_passes;
    run_options.fast = options.numerics == Numerics::fast;
    run_options.dump = [&](const passes::PassDef& pass, int round, const ir::Module& changed) {
      recorder.changed(pass, round, changed);
    };
    SCANLOOM_TRY(const passes::RunReport report, passes::run(module, run_options));
    return recorder.finish(report, run_options);
  });
}

}  // namespace scanloom
