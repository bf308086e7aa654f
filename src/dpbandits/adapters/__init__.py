"""Adapters: dpbandits where people already work. Each module needs its own package.

dpbandits.adapters.river         a private policy for river.bandit            pip install 'dpbandits[river]'
dpbandits.adapters.gymnasium     our environments as Gymnasium environments   pip install 'dpbandits[gymnasium]'
"""
