-- distribute: coordinator
-- The user of an email address, in any case of the letters A to Z; made if there is none. Takes an id either way:
-- all ids share one counter, which must not reveal whether a user was made.
CREATE OR REPLACE FUNCTION {{user_of_email}}(p_email text)
RETURNS {{users}}
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  found {{users}};
  drawn record := {{new_id}}({{random_tag}}());
BEGIN
  INSERT INTO {{users}} (id, email, created) VALUES (drawn.id, p_email, drawn.created)
    -- An address has one user, in any case of the letters A to Z. A second call at the same time waits here, and finds
    -- the user of the first.
    ON CONFLICT DO NOTHING;
  SELECT u.* INTO STRICT found FROM {{users}} u WHERE lower(u.email COLLATE "C") = lower(p_email COLLATE "C");
  RETURN found;
END
$$;
