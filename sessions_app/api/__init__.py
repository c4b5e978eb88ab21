"""HTTP for programs: parse, authorize, one call of the runtime, render (R116)."""
