-- The user of row `u` as one JSON value, without the password.
json_build_object(
  'id', u.id, 'aud', u.aud, 'role', u.role, 'email', u.email, 'phone', u.phone,
  'email_confirmed_at', u.email_confirmed_at, 'phone_confirmed_at', u.phone_confirmed_at, 'confirmed_at', u.confirmed_at,
  'invited_at', u.invited_at, 'confirmation_sent_at', u.confirmation_sent_at, 'recovery_sent_at', u.recovery_sent_at,
  'email_change', u.email_change, 'email_change_sent_at', u.email_change_sent_at,
  'email_change_confirm_status', u.email_change_confirm_status,
  'phone_change', u.phone_change, 'phone_change_sent_at', u.phone_change_sent_at,
  'reauthentication_sent_at', u.reauthentication_sent_at, 'last_sign_in_at', u.last_sign_in_at,
  'raw_app_meta_data', u.raw_app_meta_data, 'raw_user_meta_data', u.raw_user_meta_data,
  'banned_until', u.banned_until, 'deleted_at', u.deleted_at, 'is_anonymous', u.is_anonymous, 'is_sso_user', u.is_sso_user,
  'staged_at', u.staged_at, 'console_role', u.console_role, 'created_at', u.created_at, 'updated_at', u.updated_at)
