"""pydantic-ai as a kernel: any `pydantic_ai.Agent`, unchanged, made durable from outside."""
