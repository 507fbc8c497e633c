"""Sizing results as sentences, and numbers as people read them: the one place where rejections and rationales become text."""
