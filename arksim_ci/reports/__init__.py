"""What people and programs read: comment, pages, tables."""
