"""What a live experiment shows its owner: a page, a figure, tables, the words of `dpbandits show`.

All of it is made of an `Overview`, which has nothing that may not be shown.
"""
