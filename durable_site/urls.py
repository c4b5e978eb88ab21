"""Every address of the web role."""

from django.conf import settings
from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path, re_path
from django.views.generic import RedirectView

from sessions_app.api.site import responses_api

urlpatterns: list[URLPattern | URLResolver] = [
    path("admin/", admin.site.urls),
    path("api/", include("sessions_app.api.site")),
    re_path(r"^(?=responses(/|$))", responses_api.urls),
]

if not settings.PRODUCTION:
    # The address and the link that `make up` prints; a farm brings its own accounts.
    urlpatterns += [
        path("", RedirectView.as_view(pattern_name="admin:index")),
        path("", include("durable_site.embedded.signin")),
    ]
