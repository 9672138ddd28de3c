-- distribute: coordinator
-- Deletes invitations that expired more than 30 days ago, and returns how many, for the clean-up on a cluster. There a row that
-- refers to a merchant is deleted under a lock of all merchants, which Citus gives only to who may change them. The service may
-- not. (reference: Background work)
CREATE OR REPLACE FUNCTION {{delete_old_invitations}}()
RETURNS int
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
DECLARE
  deleted int;
BEGIN
  DELETE FROM {{invitations}} i WHERE i.expires < now() - interval '30 days';
  GET DIAGNOSTICS deleted = ROW_COUNT;
  RETURN deleted;
END
$$;
