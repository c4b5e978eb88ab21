"""Adapters that carry hints and Celery's life-cycle; they hold no truth."""
