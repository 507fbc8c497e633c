"""The pipeline from a spec file to a compiled, validated and priced stack."""
