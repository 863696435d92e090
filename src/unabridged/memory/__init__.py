"""Artifacts, graph, links, vectors and recall, on LanceDB."""
