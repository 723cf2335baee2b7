"""Kafka's command-line tools in one resident JVM: their own main classes, one after the other.

A tool needs a second or two of CPU to start in a JVM of its own and a tenth of one here. It is run as its shell
script runs it (main class, arguments, standard input); only leaving the process is turned into a status. The JVM lives
in a child process, `main` below, which speaks JSON lines; a tool that hangs takes that child with it.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from bifrost.jars.java import find_java
from bifrost.jars.locked_jars import broker_coordinates, resolve, tool_coordinates

JVM_OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xmx256m")


def tool_jars(version: str) -> list[Path]:
    """Return the class path of all tools: one of them, ConfigCommand, is in the broker's jar."""
    return list(dict.fromkeys([*resolve(tool_coordinates(version)), *resolve(broker_coordinates(version))]))


class ToolServer:
    """The client of the resident JVM; a context manager. `kafka_cluster.KafkaTools` is its like with a JVM for each."""

    def __init__(self, version: str, log_file: Path) -> None:
        """Describe it; it is started by the first tool.

        Args:
            version: of the tools.
            log_file: receives what the child itself prints.
        """
        self._version = version
        self._log_file = log_file
        self._child: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def __call__(
        self, main_class: str, *args: str, stdin: str = "", timeout_s: float = 60, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run a tool to its end.

        Args:
            main_class: such as `org.apache.kafka.tools.TopicCommand`.
            args: its arguments.
            stdin: its standard input.
            timeout_s: until the JVM is killed, which fails the test.
            check: whether a status other than 0 fails the test; the message holds what the tool printed.
        """
        child = self._started()
        assert child.stdin is not None
        child.stdin.write(json.dumps([main_class, args, stdin]) + "\n")
        child.stdin.flush()
        status, stdout, stderr = self._answer(child, timeout_s, f"{main_class} {' '.join(args)}")
        if check and status != 0:
            raise AssertionError(f"{main_class} {' '.join(args)}: status {status}\n{stdout}{stderr}")
        return subprocess.CompletedProcess([main_class, *args], status, stdout, stderr)

    def _answer(self, child: subprocess.Popen[str], timeout_s: float, what: str) -> list[Any]:
        assert child.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(child.stdout, selectors.EVENT_READ)
            answered = bool(selector.select(timeout_s))
        line = child.stdout.readline() if answered else ""
        if not line:
            self._stop()
            how = "the JVM ended" if answered else f"no end after {timeout_s} s"
            raise AssertionError(f"{what}: {how}\n{self._log_file.read_text()[-4000:]}")
        answer: list[Any] = json.loads(line)
        return answer

    def _started(self) -> subprocess.Popen[str]:
        if self._child is None:
            environment = {**os.environ, "CLASSPATH": ":".join(map(str, tool_jars(self._version)))}
            with self._log_file.open("ab") as log:
                self._child = subprocess.Popen(
                    [sys.executable, str(Path(__file__).resolve()), str(find_java())],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    env=environment,
                    start_new_session=True,
                )
        return self._child

    def _stop(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.communicate()
            self._child = None


def main() -> None:
    """Answer each line `[main class, arguments, standard input]` with a line `[status, stdout, stderr]`."""
    import jpype

    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # What Java prints past System.out is no answer.
    home = Path(sys.argv[1]).resolve().parents[1]
    library = next(home.glob("lib/**/libjvm.so"), None) or next(home.glob("lib/**/libjvm.*"))
    logger = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
    jpype.startJVM(str(library), *JVM_OPTIONS, logger, classpath=os.environ["CLASSPATH"].split(":"))
    runner = _Runner(jpype)
    for line in sys.stdin:
        main_class, arguments, text = json.loads(line)
        answers.write(json.dumps(runner.run(main_class, arguments, text)) + "\n")
        answers.flush()


class _Runner:
    """Runs main methods in this process's JVM."""

    def __init__(self, jpype: Any) -> None:
        self._jpype = jpype
        self._java = jpype.JPackage("java")
        self._streams: list[Any] = []
        self._ended: tuple[int, str, str] | None = None
        self._leaves = jpype.JClass("java.lang.ThreadDeath")
        exits = jpype.JClass("org.apache.kafka.common.utils.Exit")
        procedure = jpype.JProxy(f"{exits.class_.getName()}$Procedure", {"execute": self._leave})
        exits.setExitProcedure(procedure)
        exits.setHaltProcedure(procedure)
        self._hooks: list[Any] = []
        hooks = {"addShutdownHook": lambda name, hook: self._hooks.append(hook)}
        exits.setShutdownHookAdder(jpype.JProxy(f"{exits.class_.getName()}$ShutdownHookAdder", hooks))

    def run(self, main_class: str, arguments: Sequence[str], text: str) -> tuple[int, str, str]:
        """Run one and return its status, standard output and standard error."""
        jpype, system = self._jpype, self._java.lang.System
        before = system.out, system.err
        self._streams = [self._java.io.ByteArrayOutputStream() for _ in before]
        self._ended = None
        system.setIn(self._java.io.ByteArrayInputStream(jpype.JArray(jpype.JByte)(text.encode())))
        system.setOut(self._java.io.PrintStream(self._streams[0], True))
        system.setErr(self._java.io.PrintStream(self._streams[1], True))
        try:
            jpype.JClass(main_class).main(jpype.JArray(jpype.JString)(arguments))
        except self._leaves:
            pass
        except jpype.JException as error:
            system.err.println(error.stacktrace())
            self._end(1)
        finally:
            system.setOut(before[0])
            system.setErr(before[1])
        return self._end(0)

    def _leave(self, status: int, _: object) -> None:
        self._end(int(status))
        raise self._leaves()

    def _end(self, status: int) -> tuple[int, str, str]:
        """Take note of the first end: some tools catch whatever is thrown, print it and leave again."""
        if self._ended is None:
            while self._hooks:
                self._hooks.pop().run()
            out, err = (str(stream.toString()) for stream in self._streams)
            self._ended = (status, out, err)
        return self._ended


if __name__ == "__main__":
    main()
