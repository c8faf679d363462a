"""From conversations to scores, unique errors and what to change."""
