"""What a live experiment shows its owner: a page, a figure, tables, the text of `dpbandits show`.

All of it is made from an `Overview`, which has nothing that may not be shown.
"""
