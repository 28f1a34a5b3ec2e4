"""Tables of the room: the columns of each, how a row fills them, and their order."""
