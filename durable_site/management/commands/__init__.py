"""Commands that run the site: `durable_up` and `durable_demo`."""
