-- distribute: coordinator
-- Returns the user of an email address, or creates it. The letters A to Z match in any case. Always takes an id: all ids share
-- one counter, which must not reveal whether a user was created.
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
    -- An address has one user; the letters A to Z match in any case. A parallel call waits here, and finds the user of the first
    -- call.
    ON CONFLICT DO NOTHING;
  SELECT u.* INTO STRICT found FROM {{users}} u WHERE lower(u.email COLLATE "C") = lower(p_email COLLATE "C");
  RETURN found;
END
$$;
