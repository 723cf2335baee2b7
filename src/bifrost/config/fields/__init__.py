"""The sections of the configuration: their fields, defaults and bounds."""
