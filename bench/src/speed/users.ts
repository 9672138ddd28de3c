/**
 * The statement that makes users of auth. Hashes mix names, mail hosts and phones. The oldest 6 % share a host that no later user
 * has.
 */
export function insertUsers(count: number): string {
  const pick = (list: string, salt: number) =>
    `(ARRAY[${list}])[1 + abs(hashint4(n * 31 + ${salt}) % ${list.split(',').length})]`
  const first = pick(
    "'James','Mary','Robert','John','Jennifer','Linda','David','Susan','Karen','Zoe','Søren','Иван'",
    1,
  )
  const last = pick("'Smith','Johnson','Brown','Garcia','Miller','Wright','Lee','Nguyen','Hill','O''Neil'", 2)
  const host = pick("'gmail.com','outlook.com','icloud.com','proton.me','mail.example.org','corp.example.net'", 3)
  // The index of the search is made afterwards, which is many times faster than adding entry by entry.
  return `DO $seed$
    DECLARE definition text := pg_get_indexdef('auth.user_directory_grams_idx'::regclass);
    BEGIN
    DROP INDEX auth.user_directory_grams_idx;
    INSERT INTO auth.users (id, aud, role, email, phone, encrypted_password, email_confirmed_at, raw_app_meta_data,
        raw_user_meta_data, created_at, updated_at)
      SELECT gen_random_uuid(), 'authenticated', 'authenticated', lower(f || '.' || l) || n || '@' || h,
        CASE WHEN n % 2 = 0 THEN '1' || lpad((n::bigint * 7919 % 10000000000)::text, 10, '0') END,
        '$argon2id$v=19$m=19456,t=2,p=1$GJKc8fEj4AoR/PTojbIYew$4FW369TfP4mverPz47iy55cXe0b7kDmsq3By5PqRzWk',
        now(), '{"provider":"email","providers":["email"]}', jsonb_build_object('full_name', f || ' ' || l),
        now() - (${count} - n) * interval '90 seconds', now()
      FROM (SELECT n, ${first} AS f, ${last} AS l,
        CASE WHEN n < ${count} * 0.06 THEN 'oldcompany.example' ELSE ${host} END AS h
        FROM generate_series(1, ${count}) AS n) AS people;
    EXECUTE definition;
    END $seed$`
}
