"""The operator's command line, `manage.py durable <verb>`: a verb parses, calls, prints."""
