"""`make bench-journal`: what the journal costs."""

from bench.turns import compare

if __name__ == "__main__":
    compare(lambda laboratory: laboratory.gateway(more="journal: {}"))
