-- distribute: everywhere
-- Returns a user as the members of a merchant see it. Until the user accepts, this contains only data that members wrote.
CREATE OR REPLACE FUNCTION {{user_member}}(p_member {{merchant_users}})
RETURNS jsonb
LANGUAGE plpgsql STABLE
AS $$
BEGIN
  RETURN (
    SELECT jsonb_build_object(
      'id', coalesce(p_member.member_id, u.id),
      'email', coalesce(p_member.email, u.email),
      'name', CASE WHEN NOT p_member.pending THEN u.name END,
      'created', CASE WHEN p_member.member_id IS NULL THEN u.created ELSE p_member.created END,
      'pending', p_member.pending
    ) FROM {{users}} u WHERE u.id = p_member.user_id
  );
END
$$;
