"""Files and the database on the operator's computer."""
