"""Spark itself, for any job: its session and jars, tables that change in commits, files, and progress."""
