import { describe, expect, it } from 'vitest'
import { adopt, restore, restoreAdopted } from '../../../test/adoption/adopted-app.ts'
import { runSql } from '../../../test/adoption/restored-database.ts'
import { forgetAdoption, undoAdoption } from '../use-cases/undo-adoption.ts'

/** Objects that an application may build on tables of supabase/auth that move: a policy, views, and a foreign key. */
const DEPENDENTS = `
  CREATE TABLE public.vault (id int);
  ALTER TABLE public.vault ENABLE ROW LEVEL SECURITY;
  CREATE POLICY everybody ON public.vault FOR SELECT USING (true);
  CREATE POLICY by_passkey ON public.vault AS RESTRICTIVE FOR SELECT
    USING (EXISTS (SELECT FROM auth.webauthn_credentials WHERE user_id = gen_random_uuid()));
  CREATE VIEW public.tokens AS SELECT id, token FROM auth.refresh_tokens;
  CREATE VIEW public.newest AS SELECT max(id) AS id FROM public.tokens;
  CREATE TABLE public.seen (id uuid REFERENCES auth.flow_state)`
const POLICIES =
  "SELECT polname AS name FROM pg_policy p JOIN pg_class c ON c.oid = polrelid AND relname = 'vault' ORDER BY 1"

describe('adopt --forget', () => {
  it('drops nothing while policies, views and foreign keys of applications need the old tables, and names them', async () => {
    const restored = await restore('v2.196.0')
    const { superuserUrl } = restored.database
    await runSql(superuserUrl, DEPENDENTS)
    await adopt(restored)
    const policies = await runSql(superuserUrl, POLICIES)
    await expect(forgetAdoption(restored.deps, async () => true)).rejects.toThrow(
      new Error(
        [
          'nothing was dropped: change or drop first what depends on the old tables',
          'constraint seen_id_fkey on table public.seen depends on table auth_before_trestle.flow_state',
          'policy by_passkey on table public.vault depends on table auth_before_trestle.webauthn_credentials',
          'view public.newest depends on view public.tokens',
          'view public.tokens depends on table auth_before_trestle.refresh_tokens',
        ].join('\n'),
      ),
    )
    expect(await runSql(superuserUrl, POLICIES)).toEqual(policies)
    await runSql(
      superuserUrl,
      `DROP POLICY by_passkey ON public.vault; DROP VIEW public.newest, public.tokens; DROP TABLE public.seen`,
    )
    await forgetAdoption(restored.deps, async () => true)
    expect(await runSql(superuserUrl, "SELECT to_regnamespace('auth_before_trestle') AS kept")).toEqual([
      { kept: null },
    ])
    // This table of supabase/auth stays. Its foreign key was dropped with the table of flows.
    expect(
      await runSql(
        superuserUrl,
        "SELECT conname FROM pg_constraint WHERE conrelid = 'auth.saml_relay_states'::regclass AND contype = 'f' ORDER BY 1",
      ),
    ).toEqual([{ conname: 'saml_relay_states_sso_provider_id_fkey' }])
  })

  it('drops nothing while something of others is in the schema of the old tables', async () => {
    const restored = await restore('v2.196.0')
    await adopt(restored)
    const { url } = restored.database
    await runSql(
      url,
      `CREATE FUNCTION auth_before_trestle.own() RETURNS int LANGUAGE sql AS 'SELECT 1';
       CREATE TABLE auth_before_trestle.notes (text text)`,
    )
    await expect(forgetAdoption(restored.deps, async () => true)).rejects.toThrow(
      new Error(
        [
          'nothing was dropped: change or drop first what depends on the old tables',
          'function auth_before_trestle.own() depends on schema auth_before_trestle',
          'table auth_before_trestle.notes depends on schema auth_before_trestle',
        ].join('\n'),
      ),
    )
    expect(await runSql(url, 'SELECT count(*)::int AS count FROM auth_before_trestle.adoption')).toEqual([{ count: 1 }])
  })
})

describe('adopt', () => {
  it('gives a right on columns of a table that moves on the table that takes its name, and undo asks for no revoke', async () => {
    const restored = await restore('v2.196.0')
    const { superuserUrl } = restored.database
    await runSql(superuserUrl, 'GRANT SELECT (session_id, token) ON auth.refresh_tokens TO anon WITH GRANT OPTION')
    await adopt(restored)
    const columns = (right: string) =>
      runSql(
        superuserUrl,
        `SELECT attname AS name FROM pg_attribute WHERE attrelid = 'auth.refresh_tokens'::regclass AND attnum > 0
           AND has_column_privilege('anon', attrelid, attnum, '${right}')`,
      )
    expect(await columns('SELECT WITH GRANT OPTION')).toEqual([{ name: 'session_id' }])
    expect(await undoAdoption(restored.deps, async () => true)).toBe(true)
    expect(await columns('SELECT')).toEqual([{ name: 'token' }, { name: 'session_id' }])
  })
})

describe('adopt --undo', () => {
  it('drops nothing that others have added to tables that go, and names it', async () => {
    const restored = await restoreAdopted('v2.196.0')
    const { superuserUrl } = restored.database
    await runSql(
      superuserUrl,
      `CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
       CREATE TRIGGER noted AFTER INSERT ON auth.refresh_tokens FOR EACH ROW EXECUTE FUNCTION public.note();
       CREATE TRIGGER stays AFTER INSERT ON auth.users FOR EACH ROW EXECUTE FUNCTION public.note();
       CREATE POLICY own ON auth.audit_log_entries FOR SELECT USING (true);
       CREATE RULE quiet AS ON DELETE TO auth.outbox DO ALSO NOTHING;
       CREATE INDEX seen ON auth.flow_state (created_at);
       ALTER TABLE auth.one_time_tokens ADD COLUMN extra text;
       ALTER TABLE auth.send_throttle ADD CONSTRAINT always CHECK (true);
       CREATE STATISTICS auth.related ON aud, document FROM auth.user_directory;
       ALTER TABLE auth.user_directory ALTER COLUMN aud SET DEFAULT 'all';
       COMMENT ON TABLE auth.messages IS 'read by support';
       COMMENT ON COLUMN auth.user_directory.document IS 'read by support';
       CREATE PUBLICATION told FOR TABLE auth.messages;
       GRANT SELECT ON auth.refresh_tokens, auth.user_factors TO anon;
       GRANT SELECT (aud) ON auth.user_directory TO anon`,
    )
    await expect(undoAdoption(restored.deps, () => expect.fail('asked'))).rejects.toThrow(
      new Error(
        [
          'nothing changed: drop or revoke first what was added to the tables of this service, and would be lost with them',
          'changed column aud of table user_directory',
          'column extra of table one_time_tokens',
          'comment on column document of table user_directory',
          'comment on table messages',
          'constraint always of table send_throttle',
          'index auth.seen of table flow_state',
          'place in publication told of table messages',
          'policy own of table audit_log_entries',
          'right SELECT (aud) of anon on table user_directory',
          'right SELECT of anon on table refresh_tokens',
          'right SELECT of anon on table user_factors',
          'rule quiet of table outbox',
          'statistics related of table user_directory',
          'trigger noted of table refresh_tokens',
        ].join('\n'),
      ),
    )
    await runSql(
      superuserUrl,
      `DROP TRIGGER noted ON auth.refresh_tokens; DROP POLICY own ON auth.audit_log_entries; DROP RULE quiet ON auth.outbox;
       DROP INDEX auth.seen; ALTER TABLE auth.one_time_tokens DROP COLUMN extra;
       ALTER TABLE auth.send_throttle DROP CONSTRAINT always; DROP STATISTICS auth.related; DROP PUBLICATION told;
       ALTER TABLE auth.user_directory ALTER COLUMN aud DROP DEFAULT; COMMENT ON TABLE auth.messages IS NULL;
       COMMENT ON COLUMN auth.user_directory.document IS NULL; REVOKE SELECT (aud) ON auth.user_directory FROM anon;
       REVOKE SELECT ON auth.refresh_tokens, auth.user_factors FROM anon`,
    )
    expect(await undoAdoption(restored.deps, async () => true)).toBe(true)
    expect(await runSql(superuserUrl, "SELECT tgname FROM pg_trigger WHERE tgname = 'stays'")).toEqual([
      { tgname: 'stays' },
    ])
  })

  it.each([
    [
      'CREATE VIEW public.tokens AS SELECT id FROM auth.refresh_tokens',
      'view public.tokens depends on table auth.refresh_tokens',
    ],
    [
      'CREATE TABLE public.seen (id uuid REFERENCES auth.webauthn_credentials)',
      'constraint seen_id_fkey on table public.seen depends on table auth.webauthn_credentials',
    ],
    [
      'CREATE VIEW public.everybody AS SELECT * FROM auth.users',
      'view public.everybody depends on column staged_at of table auth.users',
    ],
    [
      'CREATE VIEW public.waiting AS SELECT id FROM auth_jobs.job',
      'view public.waiting depends on table auth_jobs.job',
    ],
    [
      'CREATE VIEW public.adopted AS SELECT version FROM auth_before_trestle.adoption',
      'view public.adopted depends on table auth_before_trestle.adoption',
    ],
    [
      'SET ROLE supabase_auth_admin; CREATE TABLE auth_jobs.notes (text text)',
      'table auth_jobs.notes depends on schema auth_jobs',
    ],
    [
      'SET ROLE supabase_auth_admin; CREATE TABLE auth_before_trestle.notes (text text)',
      'table auth_before_trestle.notes depends on schema auth_before_trestle',
    ],
  ])('refuses before it asks, and names what depends on what it drops: %s', async (statement, dependent) => {
    const restored = await restoreAdopted('v2.196.0')
    const { superuserUrl } = restored.database
    await runSql(superuserUrl, statement)
    const catalogue = () =>
      runSql(superuserUrl, 'SELECT oid::regclass::text AS name, relkind FROM pg_class ORDER BY oid')
    const before = await catalogue()
    await expect(undoAdoption(restored.deps, () => expect.fail('asked'))).rejects.toThrow(
      new Error(`nothing changed: change or drop first what depends on the tables of this service\n${dependent}`),
    )
    expect(await catalogue()).toEqual(before)
    await runSql(
      superuserUrl,
      `DROP VIEW IF EXISTS public.tokens, public.everybody, public.waiting, public.adopted;
       DROP TABLE IF EXISTS public.seen, auth_jobs.notes, auth_before_trestle.notes`,
    )
    expect(await undoAdoption(restored.deps, async () => true)).toBe(true)
  })
})
