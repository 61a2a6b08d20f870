"""Parallel work: threads or a Dask cluster, progress, and objects bound to one process."""
