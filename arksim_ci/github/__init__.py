"""Everything that knows of GitHub."""
