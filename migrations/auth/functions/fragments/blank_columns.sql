-- Columns of a new user without a default, which supabase/auth fills with blank values. blank_values.sql has the values.
instance_id, confirmation_token, recovery_token, email_change_token_new, email_change
