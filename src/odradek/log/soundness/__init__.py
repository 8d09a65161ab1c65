"""No byte is served that was not checked since the process began, and no index is believed untested."""
