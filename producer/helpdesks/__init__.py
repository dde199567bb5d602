"""Helpdesks that speak a language of their own, one room each."""
