"""The commands; errors become exit codes here and nowhere else."""
