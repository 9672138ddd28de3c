-- The caller: the app of a key, or the user of a verified email address. One of the two parameters is NULL. No row for an unknown
-- caller.
{{include:app_of_key.sql key_mac => {{:key_mac}}}}
UNION ALL
{{include:user_of_address.sql user_email => {{:user_email}}}}
