"""Files of a directory on any file system of Hadoop (a local one, HDFS, an object store), through Spark's JVM.

Uses the same class as Spark for its checkpoints: a file exists whole or not at all, and of two writers that create the
same name one fails. So every file system that is fit for a checkpoint is fit for these files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_COPY_BYTES = 1 << 16
"""Buffer for the copying of a file."""


class FileIsThereError(Exception):
    """Another writer created the file before."""


class HadoopFiles:
    """The files below one directory; names are relative to it, with forward slashes."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        """Use the directory `root`, which need not exist yet: a path, or a URI with its scheme."""
        jvm: Any = spark.sparkContext._jvm
        self._path = jvm.org.apache.hadoop.fs.Path
        configuration = spark._jsparkSession.sessionState().newHadoopConf()
        base = self._path(root)
        self._file_system = base.getFileSystem(configuration)
        self._base = self._file_system.makeQualified(base)
        managers = jvm.org.apache.spark.sql.execution.streaming.CheckpointFileManager
        self._manager = managers.create(self._base, configuration)
        self._copy = jvm.org.apache.hadoop.io.IOUtils.copyBytes

    @property
    def root(self) -> str:
        """The directory, with its scheme."""
        return str(self._base.toString())

    @property
    def local_root(self) -> str | None:
        """The directory's path on this machine; None if it is on another file system."""
        uri = self._base.toUri()
        return str(uri.getPath()) if uri.getScheme() == "file" else None

    def path(self, name: str) -> str:
        """Return the whole path of `name`, as Spark reads and writes it."""
        return f"{self.root}/{name}"

    def exists(self, name: str) -> bool:
        """Return whether there is a file or directory `name`."""
        return bool(self._manager.exists(self._at(name)))

    def names(self, directory: str) -> list[str]:
        """Return the names in `directory` except hidden ones; empty if the directory does not exist."""
        return [name for name, _modified in self.listing(directory)]

    def listing(self, directory: str) -> list[tuple[str, int]]:
        """Return the names in `directory`, each with the time of its last change (ms since 1970)."""
        if not self.exists(directory):
            return []
        found = self._file_system.listStatus(self._at(directory))
        pairs = [(str(status.getPath().getName()), int(status.getModificationTime())) for status in found]
        return sorted(pair for pair in pairs if not pair[0].startswith((".", "_")))

    def read(self, name: str) -> str:
        """Return the text of the file `name`."""
        stream = self._manager.open(self._at(name))
        try:
            return bytes(stream.readAllBytes()).decode()
        finally:
            stream.close()

    def create(self, name: str, text: str) -> None:
        """Create the file `name` in one step.

        Raises:
            FileIsThereError: the file exists already.
        """
        from py4j.protocol import Py4JJavaError

        self._manager.mkdirs(self._at(name).getParent())
        try:
            stream = self._manager.createAtomic(self._at(name), False)
            stream.write(bytearray(text.encode()))
            stream.close()
        except Py4JJavaError as error:
            if "FileAlreadyExists" in str(error.java_exception.getClass().getName()):
                raise FileIsThereError(name) from error
            raise

    def write(self, name: str, text: str) -> None:
        """Write the file `name` in one step, and replace an older one."""
        self._manager.mkdirs(self._at(name).getParent())
        stream = self._manager.createAtomic(self._at(name), True)
        stream.write(bytearray(text.encode()))
        stream.close()

    def join(self, folder: str, name: str, head: str) -> None:
        """Write the file `name` in one step: `head`, then the files of a folder by their names; delete the folder."""
        if self.exists(name) and self._file_system.getFileStatus(self._at(name)).isDirectory():
            self.delete(name)
        stream = self._manager.createAtomic(self._at(name), True)
        stream.write(bytearray(head.encode()))
        for part in self.names(folder):
            opened = self._manager.open(self._at(f"{folder}/{part}"))
            self._copy(opened, stream, _COPY_BYTES)
            opened.close()
        stream.close()
        self.delete(folder)

    def delete(self, name: str) -> None:
        """Delete a file, or a directory with all that is in it."""
        self._manager.delete(self._at(name))

    def _at(self, name: str) -> Any:
        return self._path(f"{self.root}/{name}") if name else self._base
