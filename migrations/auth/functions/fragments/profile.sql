-- The data of user row `u` in a session's response body, as one JSON value. The statement that writes the row evaluates this
-- expression, so that the whole row is not copied to a variable first.
json_build_object(
  'user', {{include:user.sql}},
  'identities', (SELECT json_agg(i ORDER BY i.created_at, i.id) FROM {{identities}} i WHERE i.user_id = u.id),
  'factors', (
    SELECT json_agg(json_build_object(
        'id', f.id, 'friendly_name', f.friendly_name, 'factor_type', f.factor_type, 'status', f.status, 'phone', f.phone,
        'last_challenged_at', f.last_challenged_at, 'created_at', f.created_at, 'updated_at', f.updated_at)
      ORDER BY f.created_at, f.id)
    FROM {{user_factors}} f WHERE f.user_id = u.id))
