"""The jobs: each reads tables or a topic, applies the pure modules beside this package, writes tables, and shows
progress.
"""
