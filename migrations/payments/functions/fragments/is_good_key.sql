-- Whether the key of the row `key` of app_keys may be used.
{{:key}}.revoked IS NULL AND ({{:key}}.expires IS NULL OR {{:key}}.expires > now())
