// Pairs of steps of element programs that one function computes: the result of the first stays in
// registers. The bits are those of the two steps.
#pragma once

#include "base/cpu.h"
#include "kernels/element_fns.h"

namespace scanloom::kernels {

/// fn(out, a, b, c) computes second(first(a, b), c), or second(first(a, b)). Where `first` takes
/// one argument, fn(out, a, b) computes second(first(a), b).
struct JoinedFn {
  ElementFn first = nullptr, second = nullptr, fn = nullptr;
};

/// if_true(out, a, b, c) computes the choice by comparison(a, b) of one of its own arguments where
/// it holds (is_left: a, otherwise b), else c; if_false the choice of c where it holds, else that
/// argument.
struct ChosenFn {
  ElementFn comparison = nullptr;
  bool is_left = false;
  ElementFn if_true = nullptr, if_false = nullptr;
};

/// The functions of one instruction set, by those that they replace; null if there is none.
struct JoinedFns {
  /// Selects by a byte between an element and 0: fn(out, bytes, elements). Only for elements of 4
  /// bytes; null for others.
  ElementFn (*kept)(int bytes);
  /// fn(out, a, b, c) computes kept(comparison(a, b), c).
  ElementFn (*kept_where)(ElementFn comparison);
  /// See JoinedFn.
  ElementFn (*joined)(ElementFn first, ElementFn second);
  /// fn(out, a, b, c) computes second(c, first(a, b)). `first` may be a joined function.
  ElementFn (*joined_right)(ElementFn first, ElementFn second);
  /// ChosenFn::if_true or if_false.
  ElementFn (*chosen)(ElementFn comparison, bool is_left, bool if_true);
};

const JoinedFns& joined_fns(Isa isa);

}  // namespace scanloom::kernels
