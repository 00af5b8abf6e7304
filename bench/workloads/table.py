"""A table in a shared variable: a call returns the rows with the given indices and updates them; and
calls that update rows in other forms."""

import numpy as np

from harness import Wrong

ROWS = (200, 20_000)  # 1e4 and 1e6 elements
WIDTH, UPDATED = 50, 20


class Table:
    def __init__(self, rows):
        import scanloom as theano
        import scanloom.tensor as T

        random = np.random.default_rng(41)
        self.start = random.standard_normal((rows, WIDTH))
        self.ids = random.permutation(rows)[:UPDATED]
        self.change = random.standard_normal((UPDATED, WIDTH))
        self.kept = self.start.copy()
        self.table = theano.shared(self.start, "table")
        ids, change = T.lvector("ids"), T.dmatrix("change")
        part = self.table[ids]
        self.add = theano.function([ids, change], updates=[(self.table, T.inc_subtensor(part, change))])
        self.put = theano.function(
            [ids, change], part, updates=[(self.table, T.set_subtensor(part, change))]
        )

    def check(self):
        """Checks additions, with a repeated row, and all rows. Raises Wrong."""
        want, ids = self.start.copy(), np.concatenate([self.ids[1:], self.ids[1:2]])
        for _ in range(2):
            self.add(ids, self.change)
            np.add.at(want, ids, self.change)
        if not np.array_equal(self.table.get_value(), want):
            raise Wrong("the table is not what numpy makes of it")
        # From here on, each call returns what it writes.
        self.put(self.ids, self.change)
        self.put(self.ids, self.change)
        self.kept[self.ids] = self.change

    def call(self):
        return [self.put(self.ids, self.change)]

    def in_numpy(self):
        before = self.kept[self.ids]
        self.kept[self.ids] = self.change
        return [before]

    def reference(self):
        return [self.change]


LONG_ROWS = (10_000, 1_000_000)
NARROW = 8
FORMS = ("vector_and_slice", "ifelse", "steps", "read")


class Form:
    """A call that returns rows and writes to them in one of the forms. Every call writes the same."""

    def __init__(self, form, rows):
        import scanloom as theano

        random = np.random.default_rng(41)
        self.form = form
        self.start = random.standard_normal((rows, NARROW))
        self.ids = random.permutation(rows)[:UPDATED]
        self.values = random.standard_normal((UPDATED, NARROW))
        self.kept = self.start.copy()
        self.table = theano.shared(self.start, "table")
        self.function = self._function()

    def _function(self):
        import scanloom as theano
        import scanloom.tensor as T

        ids, values, table = T.lvector("ids"), T.dmatrix("values"), self.table
        returned = table[ids]
        if self.form == "vector_and_slice":
            new = T.set_subtensor(table[ids, 2:6], values[:, 2:6])
        elif self.form == "ifelse":
            new = theano.ifelse.ifelse(values[0, 0] < 9, T.set_subtensor(table[ids], values), table)
        elif self.form == "steps":
            step = lambda i, row, now: T.set_subtensor(now[i], T.maximum(now[i], row))
            states, _ = theano.scan(step, sequences=[ids, values], outputs_info=table)
            new = states[-1]
        else:
            new = T.set_subtensor(table[ids], values)
            returned = new[ids]
        return theano.function([ids, values], returned, updates=[(table, new)])

    def _write(self, table):
        if self.form == "vector_and_slice":
            table[self.ids, 2:6] = self.values[:, 2:6]
        elif self.form == "steps":
            table[self.ids] = np.maximum(table[self.ids], self.values)
        else:
            table[self.ids] = self.values

    def check(self):
        """Checks the whole table after two calls. Raises Wrong."""
        want = self.start.copy()
        self._write(want)
        for _ in range(2):
            self.function(self.ids, self.values)
        if not np.array_equal(self.table.get_value(), want):
            raise Wrong("the table is not what numpy makes of it")
        self.function(self.ids, self.values)  # copies the table that get_value() has returned
        self._write(self.kept)

    def call(self):
        return [self.function(self.ids, self.values)]

    def in_numpy(self):
        before = self.kept[self.ids]
        self._write(self.kept)
        return [before]

    def reference(self):
        return [self.kept[self.ids]]
