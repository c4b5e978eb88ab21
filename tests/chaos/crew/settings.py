"""The site's settings with the chaos tests' agent added."""

from durable_site.settings import *  # noqa: F403 - settings extend settings this way
from durable_site.settings import INSTALLED_APPS as _APPS

INSTALLED_APPS = [*_APPS, "tests.chaos.crew"]
