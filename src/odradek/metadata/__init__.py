"""What the cluster knows about itself: metadata records, their immutable image, and the dirs that hold them."""
