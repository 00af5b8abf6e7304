// scanloom: the command line. Errors become exit statuses here and nowhere else.
#include <exception>
#include <iostream>
#include <string>

#include <CLI/CLI.hpp>

#include <scanloom/session.h>

#include "commands.h"
#include "failure.h"

namespace {

int run(int argc, char** argv) {
  namespace cli = scanloom::cli;
  int status = cli::kFine;
  CLI::App app("Runs, checks and measures models with loops.", "scanloom");
  app.set_version_flag("--version", std::string(scanloom::version()));
  app.require_subcommand(1);
  app.footer(
      "Exit status: 0 fine, 1 results differ or check failed, 2 bad model, input or use,\n"
      "3 a limit was reached, 130 interrupted.\n\n"
      "Example: scanloom run model.onnx --feed x=input.npy --out result.npz");
  cli::add_run(app, status);
  cli::add_show(app, status);
  cli::add_explain(app, status);
  cli::add_check(app, status);
  cli::add_bench(app, status);
  cli::add_compare(app, status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help and --version
    return app.exit(asked);
  } catch (const CLI::ParseError& wrong) {
    std::cerr << "error: " << wrong.what() << "\n  note: 'scanloom --help' and "
              << "'scanloom COMMAND --help' show what is possible\n";
    return cli::kBad;
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const scanloom::Failure& failure) {
    return scanloom::cli::report(failure.error());
  } catch (const std::exception& other) {
    std::cerr << "error: " << other.what() << '\n';
    return scanloom::cli::kBad;
  }
}
