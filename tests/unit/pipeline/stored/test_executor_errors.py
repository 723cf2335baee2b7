from bifrost.pipeline.stored.executor_errors import task_error

TRACE = """\
An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "stored_topics.py", line 1, in read
bifrost.pipeline.errors.PipelineError: orders-0: TOPIC_AUTHORIZATION_FAILED

The above exception was the direct cause:
\tat org.apache.spark.Something(Somewhere.scala:1)
"""


def test_an_error_of_our_own_is_its_own_line() -> None:
    assert task_error(TRACE) == "orders-0: TOPIC_AUTHORIZATION_FAILED"


def test_an_executor_without_the_environment_is_told_what_it_lacks() -> None:
    text = task_error("Traceback\nModuleNotFoundError: No module named 'bifrost.pipeline'\n")

    assert text.startswith("the executors' Python has no bifrost.pipeline: give them the environment")


def test_any_other_failure_is_its_first_line() -> None:
    assert task_error("\nJob aborted\nmore") == "a task failed: Job aborted"
