"""A table in a shared variable: a call returns the rows with the given indices and updates them."""

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
