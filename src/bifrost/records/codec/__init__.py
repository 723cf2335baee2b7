"""The record codec: clients' batches as columns, and batches from columns; what it unpacks has bounds. No I/O."""
