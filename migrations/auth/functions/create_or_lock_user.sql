-- Creates the user of a sign-up, or finds and locks the owner of its identifier. Called by sign_up.
--
-- p_provider: `email` or `phone`, the identifier of the item; null for an anonymous user. p_due_before: a new message may follow
-- a message sent at or before this time; null if the identifier counts as confirmed.
--
-- Returns the row of the user. A new user has the id of the item.
--
-- The query after the insert finds the owner by the email or phone only, so that no plan reads all users. A pending sign-up loses
-- the identifier, and an account without a claim to the email loses the email. Then the loop inserts again. Otherwise the loop
-- ends with the new user or the locked owner, unless another transaction creates or deletes an owner meanwhile.
--
-- A pending sign-up waits for a code by mail, which the owner of the address may have requested. The sign-up of a stranger must
-- not end that code. So the code moves to the new user, with the content of its request, and the pending sign-up is deleted. The
-- message of the sign-up would replace a code by SMS. So a pending sign-up that got a code by SMS within the interval is returned
-- unchanged.
--
-- Lock order: the user, then the rows of the user. release_email and the deletion of users take locks in this order too.
CREATE OR REPLACE FUNCTION {{create_or_lock_user}}(
  p_item {{sign_up_item}}, p_provider text, p_due_before timestamptz
)
RETURNS {{users}}
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
DECLARE
  owner {{users}};
  staged {{users}};
BEGIN
  LOOP
    INSERT INTO {{users}} AS u (id, aud, role, email, phone, encrypted_password, email_confirmed_at, phone_confirmed_at,
        confirmation_sent_at, raw_app_meta_data, raw_user_meta_data, is_anonymous, created_at, updated_at,
        {{include:blank_columns.sql}})
      SELECT p_item.user_id, p_item.aud, p_item.role, p_item.email, p_item.phone, p_item.password_hash,
        CASE WHEN p_item.confirmed AND p_provider = 'email' THEN p_item.created_at END,
        CASE WHEN p_item.confirmed AND p_provider = 'phone' THEN p_item.created_at END,
        CASE WHEN NOT p_item.confirmed THEN p_item.created_at END,
        CASE WHEN p_provider IS NULL THEN '{}'
          ELSE jsonb_build_object('provider', p_provider, 'providers', jsonb_build_array(p_provider)) END,
        p_item.data, p_provider IS NULL, p_item.created_at, p_item.created_at,
        {{include:blank_values.sql}}
      -- In an adopted database, the index on lower(email) may not be unique.
      WHERE NOT EXISTS (SELECT FROM {{users}} e WHERE lower(e.email) = p_item.email AND NOT e.is_sso_user)
      -- The unique index of the email or the phone decides between parallel sign-ups.
      ON CONFLICT DO NOTHING RETURNING u.* INTO owner;
    EXIT WHEN FOUND;
    SELECT u.* INTO owner FROM {{users}} u
      WHERE u.id = (
          (SELECT e.id FROM {{users}} e WHERE lower(e.email) = p_item.email AND NOT e.is_sso_user
            ORDER BY e.email_confirmed_at IS NULL, e.created_at, e.id LIMIT 1)
        UNION ALL SELECT t.id FROM {{users}} t WHERE t.phone = p_item.phone)
      FOR NO KEY UPDATE;
    EXIT WHEN FOUND AND owner.staged_at IS NULL AND NOT {{release_email}}(p_item.email, p_item.created_at);
    IF owner.staged_at IS NOT NULL THEN
      EXIT WHEN EXISTS (SELECT FROM {{one_time_tokens}} t
        WHERE t.user_id = owner.id AND t.kind = 'sms' AND t.sent_at > p_due_before);
      DELETE FROM {{users}} u WHERE u.id = staged.id;
      UPDATE {{users}} u SET email = NULL, phone = NULL WHERE u.id = owner.id;
      staged := owner;
    END IF;
  END LOOP;
  IF staged.id IS NOT NULL THEN
    IF owner.id = p_item.user_id AND NOT p_item.confirmed THEN
      INSERT INTO {{sign_up_contents}} (user_id, kind, aud, data)
        SELECT owner.id, 'recovery', coalesce(staged.aud, p_item.aud), coalesce(staged.raw_user_meta_data, '{}')
        WHERE EXISTS (SELECT FROM {{one_time_tokens}} t WHERE t.user_id = staged.id AND t.kind = 'recovery');
      UPDATE {{flow_state}} f SET user_id = owner.id WHERE f.user_id = staged.id;
      UPDATE {{one_time_tokens}} t SET user_id = owner.id WHERE t.user_id = staged.id AND t.kind = 'recovery';
    END IF;
    DELETE FROM {{users}} u WHERE u.id = staged.id;
  END IF;
  RETURN owner;
END
$$;
