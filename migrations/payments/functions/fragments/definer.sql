-- A frequent function that runs as the owner. The service may call it, although its role cannot write the tables.
SECURITY DEFINER
{{include:hot.sql}}
SET search_path = pg_catalog, pg_temp
