"""Bills: the price book, charges, corrections of issued bills, FOCUS files, and the figures of a bill's pages."""
