"""Decode, score and explain what readers answer."""
