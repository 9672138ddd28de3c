-- distribute: coordinator
-- Deletes invitations that expired more than 30 days ago, for the clean-up on a cluster. Returns their number. On a cluster,
-- deleting a row that refers to a merchant locks all merchants. Citus grants this lock only to roles that may change merchants,
-- and the service may not. (reference: Background work)
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
