"""Who is at the other end of a connection, and how that is found out."""
