-- A hot write that the service may call although its role cannot write the tables.
SECURITY DEFINER
{{include:hot.sql}}
SET search_path = pg_catalog, pg_temp
