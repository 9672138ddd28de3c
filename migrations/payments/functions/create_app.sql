-- distribute: coordinator
-- Creates an app and its first key in one statement, and returns the id of the app. p_key_mac: the MAC of the key. p_hint: the
-- part of the key that is shown. p_name: NULL for no name. Commands of operators and register_app call this function. (reference:
-- Registration)
CREATE OR REPLACE FUNCTION {{create_app}}(p_key_mac bytea, p_hint text, p_name text)
RETURNS text
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
DECLARE
  app record;
  app_key record;
BEGIN
  app := {{new_id}}({{random_tag}}());
  app_key := {{new_id}}({{random_tag}}());
  INSERT INTO {{apps}} (id, name, created) VALUES (app.id, p_name, app.created);
  INSERT INTO {{app_keys}} (id, app_id, mac, hint, created)
    VALUES (app_key.id, app.id, p_key_mac, p_hint, app_key.created);
  PERFORM {{add_audit}}(NULL, app.id, 'key.created', jsonb_build_object('id', app_key.id));
  RETURN app.id;
END
$$;
