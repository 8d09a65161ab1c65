"""The admin client: what a program may ask a cluster to do, one operation each."""
