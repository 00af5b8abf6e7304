// scanloom batch: runs a model over files. Jobs are a part of the Python package, so this command
// replaces the process by Python's.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <scanloom/error.h>

#include "commands.h"
#include "failure.h"

namespace scanloom::cli {
namespace {

// `python3 -m scanloom` alone would not say what to install.
constexpr char kProgram[] =
    "import importlib.util, runpy, sys\n"
    "if importlib.util.find_spec('scanloom') is None:\n"
    "    sys.stderr.write(\"error: 'scanloom batch' needs the Python package, which python3 does "
    "not "
    "find\\n\"\n"
    "                     \"  note: pip install 'scanloom[batch]', or write python -m scanloom "
    "batch with "
    "the Python that has it\\n\")\n"
    "    sys.exit(2)\n"
    "runpy.run_module('scanloom', run_name='__main__', alter_sys=True)\n";

int run_python(const std::vector<std::string>& rest) {
  std::vector<std::string> words = {"python3", "-c", kProgram, "batch"};
  words.insert(words.end(), rest.begin(), rest.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execvp(pointers[0], pointers.data());
  return report(
      Error(Code::not_found, std::string("'scanloom batch' needs python3, which cannot be "
                                         "started: ") +
                                 std::strerror(errno))
          .note("install Python, then pip install 'scanloom[batch]'"));
}

}  // namespace

void add_batch(CLI::App& app, int& status) {
  CLI::App* command = app.add_subcommand(
      "batch", "runs a model on every row of files; needs the Python package and pyarrow");
  command->prefix_command();
  command->set_help_flag();  // --help is Python's, too
  command->callback([command, &status] { status = run_python(command->remaining()); });
}

}  // namespace scanloom::cli
