#include "interrupt.h"

#include <signal.h>

#include "failure.h"

namespace scanloom::cli {
namespace {

// A signal handler has no arguments, so this is a global, the only one of the program.
constinit CancelFlag interrupted;

void on_interrupt(int) { interrupted.cancel(); }

}  // namespace

const CancelFlag* cancel_on_interrupt() {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // a second Ctrl-C has its default effect
  sigaction(SIGINT, &action, nullptr);
  return &interrupted;
}

void end_if_interrupted() {
  if (interrupted.cancelled()) fail(Code::cancelled, "interrupted");
}

}  // namespace scanloom::cli
