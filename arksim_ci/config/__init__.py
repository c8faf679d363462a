"""config.yaml and overrides become one frozen `RunConfig`; every rule of validation stands here."""
