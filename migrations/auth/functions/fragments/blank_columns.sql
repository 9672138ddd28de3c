-- Columns of a new user that have no default and hold what supabase/auth writes there; their values are blank_values.
instance_id, confirmation_token, recovery_token, email_change_token_new, email_change
