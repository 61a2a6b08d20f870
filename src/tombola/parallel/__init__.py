"""Parallel work: threads or a Dask cluster, progress, process-bound objects."""
