"""Checks of a stack's nodes before its queue starts jobs. Their objects are not part of the stack."""
