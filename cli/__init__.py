"""The command line: parse, dispatch, headless commands, and the wiring of everything."""
