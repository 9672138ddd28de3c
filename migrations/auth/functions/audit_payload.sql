-- Returns the payload of an audit log entry: the actor, the action and `traits` (null for none). The service writes payloads with
-- the same fields itself.
CREATE OR REPLACE FUNCTION {{audit_payload}}(actor {{users}}, action text, log_type text, traits jsonb)
RETURNS jsonb
LANGUAGE sql
STABLE
AS $$
  SELECT jsonb_strip_nulls(jsonb_build_object(
    'actor_id', actor.id, 'actor_username', coalesce(nullif(actor.phone, ''), actor.email, ''),
    'actor_name', nullif(actor.raw_user_meta_data ->> 'full_name', ''), 'actor_via_sso', actor.is_sso_user,
    'action', action, 'log_type', log_type, 'traits', traits))
$$;
