// The commands, one per file cmd_<name>.cpp. A command adds its options to the application and sets
// `status` to its exit status after it has run.
#pragma once

namespace CLI {
class App;
}

namespace scanloom::cli {

void add_batch(CLI::App& app, int& status);
void add_report(CLI::App& app, int& status);
void add_run(CLI::App& app, int& status);
void add_show(CLI::App& app, int& status);
void add_explain(CLI::App& app, int& status);
void add_check(CLI::App& app, int& status);
void add_bench(CLI::App& app, int& status);
void add_compare(CLI::App& app, int& status);
void add_convert(CLI::App& app, int& status);
void add_version(CLI::App& app, int& status);

}  // namespace scanloom::cli
