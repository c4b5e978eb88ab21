"""Token: what a program shows to be let in. Its secret is stored as a hash alone."""

from __future__ import annotations

from django.db import models

from sessions_app.models.fields import CanonicalJSON, id_field


class Token(models.Model):
    """A bearer token with its roles and namespaces."""

    id = id_field()
    name = models.CharField(max_length=128)
    digest = models.CharField(
        max_length=64, unique=True, help_text="SHA-256 of a secret of 256 random bits"
    )
    roles = models.CharField(max_length=64, help_text="separated by commas")
    namespaces = CanonicalJSON(null=True, blank=True, help_text="NULL: all")
    rate = models.FloatField(null=True, blank=True, help_text="requests a second; NULL: default")
    created_by = models.CharField(max_length=128)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    revoked_by = models.CharField(max_length=128, blank=True, default="")
    used_at = models.DateTimeField(null=True, blank=True, help_text="to the minute")

    def __str__(self) -> str:
        """As operators read it."""
        return self.name
