"""Mobile collection: reports over H3 cells that devices noised themselves, from alphabet to published map."""
