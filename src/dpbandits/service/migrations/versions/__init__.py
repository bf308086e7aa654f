"""One file a version: what it changes, and nothing that may change later. None is ever edited once it was released."""
