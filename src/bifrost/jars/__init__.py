"""Java and the jars that Kafka's brokers, its tools and Spark's connectors run from, each jar locked by its SHA-256.

`java.py` finds a Java runtime, `locked_jars.py` downloads jars and checks them, `lock.py` writes the lock files in
`locks/`. No JVM is started here, and a gateway needs none of this.
"""
