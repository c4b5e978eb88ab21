"""The Hands house: tools that run elsewhere, behind a ledger of their own. Knows no Django."""
