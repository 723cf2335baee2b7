"""A gateway of several processes: one that accepts connections and sees to the others, and workers that carry them."""
