-- The actor of an audit log entry, from row `u` of users, with the fields that audit_payload writes.
jsonb_strip_nulls(jsonb_build_object(
  'actor_id', u.id, 'actor_username', coalesce(nullif(u.phone, ''), u.email, ''),
  'actor_name', nullif(u.raw_user_meta_data ->> 'full_name', ''), 'actor_via_sso', u.is_sso_user))
