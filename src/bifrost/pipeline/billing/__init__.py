"""Bills: the price book, charges, corrections of issued bills, FOCUS files, invoices and pages."""
