"""What the benchmarks' pool of Hands can run."""

from tests.benchmarks.crew.scripts import remote

tools = [remote]
