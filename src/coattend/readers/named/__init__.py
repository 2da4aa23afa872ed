"""Readers by name, one file each: the file's name is the reader's."""
