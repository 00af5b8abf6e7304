"""The manifest of a job where a disk fills up, or where its lines are damaged."""

import errno

import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

from scanloom import batch  # noqa: E402
from scanloom._batch.manifest import Manifest, prepare  # noqa: E402
from scanloom._batch.shards import Group, InputFile, Record, Shard  # noqa: E402

IDENTITY = {"model": "a", "inputs": []}
SHARDS = [Shard(0, InputFile("in.parquet", "/in.parquet", 1, 1), Group(i, 10 * i, 10)) for i in range(2)]
RECORD = Record(10, 0, 1, "a", "", 0.5)


@pytest.fixture
def folder(tmp_path):
    prepare(tmp_path / "out")
    return tmp_path / "out"


class FullDisk:
    """Takes a few bytes of each write."""

    def __init__(self, file):
        self._file = file
        self.fileno, self.close = file.fileno, file.close

    def write(self, data):
        return self._file.write(data[:20])


def test_a_line_that_a_full_disk_cuts_is_no_record(folder):
    manifest = Manifest(folder, IDENTITY)
    manifest.add(SHARDS[0], RECORD)
    manifest._file = FullDisk(manifest._file)
    with pytest.raises(OSError) as caught:
        manifest.add(SHARDS[1], RECORD)
    assert caught.value.errno == errno.ENOSPC
    assert list(manifest.done) == [SHARDS[0].name]
    manifest.close()
    again = Manifest(folder, IDENTITY)
    assert again.done == {SHARDS[0].name: RECORD}
    again.add(SHARDS[1], RECORD)
    again.close()
    last = Manifest(folder, IDENTITY)
    assert list(last.done) == [shard.name for shard in SHARDS]
    last.close()


@pytest.mark.parametrize("line", [b"{]\n", b'{"shard": "part-00000-00000", "rows": 10}\n'])
def test_a_damaged_line_is_named(folder, line):
    Manifest(folder, IDENTITY).close()
    with open(folder / "_scanloom" / "manifest.jsonl", "ab") as file:
        file.write(line)
    with pytest.raises(batch.JobChanged, match="line 2 of '.*manifest.jsonl' is damaged\n  note: delete the line: "):
        Manifest(folder, IDENTITY)


@pytest.mark.parametrize("damage, message", [
    (lambda lines: [b"{]\n", *lines[1:]], "line 1 of '.*' is damaged, which says what the job is"),
    (lambda lines: lines[1:], "the manifest in '.*' does not say in its first line what the job is"),
    (lambda lines: [], "the manifest in '.*' does not say in its first line what the job is"),
])  # fmt: skip
def test_a_damaged_first_line_is_not_to_be_deleted(folder, damage, message):
    manifest = Manifest(folder, IDENTITY)
    manifest.add(SHARDS[0], RECORD)
    manifest.close()
    path = folder / "_scanloom" / "manifest.jsonl"
    path.write_bytes(b"".join(damage(path.read_bytes().splitlines(keepends=True))))
    with pytest.raises(batch.JobChanged, match=message) as caught:
        Manifest(folder, IDENTITY)
    assert "restore the line from a copy" in caught.value.notes[0]
