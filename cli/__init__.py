"""The command line: parsing, dispatch, headless commands, and the wiring of all packages."""
