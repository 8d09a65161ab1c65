"""What a consumer decides: how it is a member of its group, and how it keeps its offsets there."""
