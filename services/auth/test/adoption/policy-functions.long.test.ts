import { migrateUp, reinstallFunctions } from '@trestle/database/migrations/migrate.ts'
import pg from 'pg'
import { expect, it } from 'vitest'
import { undoAdoption } from '../../src/adoption/use-cases/undo-adoption.ts'
import { migrateOptions } from '../../src/migrations.ts'
import { adopt, prepare, type Restored, restore } from './adopted-app.ts'
import { runSql } from './restored-database.ts'

// In an adopted database, the four functions for policies belong to the application, whatever they return.

/** Returns all properties of the functions that a dump contains, and the rights on their schema. */
function readFunctions({ database }: Restored): Promise<readonly unknown[]> {
  return runSql(
    database.superuserUrl,
    `SELECT p.oid::regprocedure::text AS name, pg_get_functiondef(p.oid) AS text, pg_get_userbyid(proowner) AS owner,
       proacl::text AS rights, obj_description(p.oid, 'pg_proc') AS comment
     FROM pg_proc p WHERE pronamespace = 'auth'::regnamespace AND proname IN ('uid', 'role', 'email', 'jwt')
     UNION ALL SELECT 'auth', NULL, NULL, nspacl::text, NULL FROM pg_namespace WHERE nspname = 'auth' ORDER BY name`,
  )
}

/** Runs a statement like PostgREST for a user. @returns its rows, or the error */
async function runAs({ database }: Restored, sub: string, statement: string): Promise<readonly unknown[] | string> {
  const client = new pg.Client({ connectionString: database.superuserUrl })
  await client.connect()
  try {
    await client.query('SET ROLE authenticated')
    const claims = JSON.stringify({ sub, role: 'authenticated' })
    await client.query("SELECT set_config('request.jwt.claims', $1, false)", [claims])
    return (await client.query<Record<string, unknown>>(statement)).rows
  } catch (error) {
    return String(error)
  } finally {
    await client.end()
  }
}

const undo = ({ deps }: Restored) => undoAdoption(deps, async () => true)

/** Changes by an operator. Each leaves functions that this service would not create. */
const CHANGES = {
  'bodies of their own': `
    CREATE OR REPLACE FUNCTION auth.uid() RETURNS uuid LANGUAGE sql STABLE AS 'SELECT NULL::uuid';
    CREATE OR REPLACE FUNCTION auth.role() RETURNS text LANGUAGE sql STABLE AS 'SELECT ''custom''::text';
    CREATE OR REPLACE FUNCTION auth.email() RETURNS text LANGUAGE sql STABLE BEGIN ATOMIC SELECT 'none'; END;
    COMMENT ON FUNCTION auth.role() IS 'ours'`,
  'another type of the result': `
    DROP FUNCTION auth.uid() CASCADE;
    CREATE FUNCTION auth.uid() RETURNS text LANGUAGE sql STABLE AS $$ SELECT auth.jwt() ->> 'sub' $$;
    ALTER FUNCTION auth.uid() OWNER TO supabase_auth_admin;
    GRANT EXECUTE ON FUNCTION auth.uid() TO anon, authenticated`,
  'a function of a superuser': `
    DROP FUNCTION auth.role() CASCADE;
    CREATE FUNCTION auth.role() RETURNS text LANGUAGE sql STABLE AS $$ SELECT auth.jwt() ->> 'role' $$`,
  'a function of a superuser that the owner of the tables may not call': `
    ALTER FUNCTION auth.uid() OWNER TO CURRENT_USER;
    REVOKE EXECUTE ON FUNCTION auth.uid() FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION auth.uid() TO authenticated`,
  'revoked rights': `
    REVOKE USAGE ON SCHEMA auth FROM anon, authenticated, service_role;
    REVOKE EXECUTE ON FUNCTION auth.uid(), auth.role(), auth.email(), auth.jwt()
      FROM PUBLIC, anon, authenticated, service_role`,
  'a parameter in place of the claims': `
    DROP FUNCTION auth.email();
    CREATE FUNCTION auth.email(person uuid) RETURNS text LANGUAGE sql STABLE AS 'SELECT NULL::text';
    ALTER FUNCTION auth.email(uuid) OWNER TO supabase_auth_admin`,
} as const

it.each(Object.entries(CHANGES))('auth adopt, later releases and adopt --undo leave %s', async (_name, change) => {
  const restored = await restore('v2.196.0')
  await runSql(restored.database.superuserUrl, change)
  const before = await readFunctions(restored)
  await adopt(restored)
  expect(await readFunctions(restored)).toEqual(before)
  const options = migrateOptions(restored.deps.config)
  const { functions } = options
  const changed = async () =>
    ((await functions?.files()) ?? []).map((file) => ({
      ...file,
      text: `-- New.\n${file.text}`,
      hash: `new ${file.hash}`,
    }))
  await migrateUp({ ...options, functions: functions && { ...functions, files: changed, release: '999.0.0' } })
  expect(await readFunctions(restored)).toEqual(before)
  await reinstallFunctions(options)
  expect(await readFunctions(restored)).toEqual(before)
  expect(await undo(restored)).toBe(true)
  expect(await readFunctions(restored)).toEqual(before)
})

it('auth adopt lets nobody read a row from whom auth.uid() of the operator hides it', async () => {
  const restored = await restore('v2.196.0')
  const { superuserUrl, manifest } = restored.database
  const id = manifest.users.find(({ name }) => name === 'plain')?.id ?? ''
  await runSql(
    superuserUrl,
    `CREATE TABLE public.suspended (user_id uuid PRIMARY KEY);
     CREATE FUNCTION public.current_user_id() RETURNS uuid LANGUAGE sql STABLE SECURITY DEFINER SET search_path = '' AS $$
       SELECT id FROM auth.users WHERE id = (current_setting('request.jwt.claims', true)::jsonb ->> 'sub')::uuid
         AND NOT EXISTS (SELECT FROM public.suspended WHERE user_id = id) $$;
     CREATE OR REPLACE FUNCTION auth.uid() RETURNS uuid LANGUAGE sql STABLE AS 'SELECT public.current_user_id()';
     CREATE TABLE public.secrets (owner uuid);
     ALTER TABLE public.secrets ENABLE ROW LEVEL SECURITY;
     CREATE POLICY own ON public.secrets TO authenticated USING (owner = auth.uid());
     GRANT SELECT ON public.secrets TO authenticated;
     INSERT INTO public.secrets VALUES ('${id}'); INSERT INTO public.suspended VALUES ('${id}')`,
  )
  const read = () => runAs(restored, id, 'SELECT owner FROM public.secrets')
  expect(await read()).toEqual([])
  await adopt(restored)
  expect(await read()).toEqual([])
  await undo(restored)
  expect(await read()).toEqual([])
})

it('auth adopt makes a function for policies that is missing, and adopt --undo drops it', async () => {
  const restored = await restore('v2.196.0')
  await runSql(restored.database.superuserUrl, 'DROP FUNCTION auth.email()')
  const before = await readFunctions(restored)
  await prepare(restored)
  expect(await readFunctions(restored)).toEqual(before)
  await adopt(restored)
  const id = '11111111-1111-1111-1111-111111111111'
  expect(await runAs(restored, id, 'SELECT auth.uid(), auth.email()')).toEqual([{ uid: id, email: null }])
  await undo(restored)
  expect(await readFunctions(restored)).toEqual(before)
})

it('auth migrate leaves the function with which an operator has replaced one that auth adopt had made', async () => {
  const restored = await restore('v2.196.0')
  await runSql(restored.database.superuserUrl, 'DROP FUNCTION auth.email()')
  await adopt(restored)
  await runSql(
    restored.database.superuserUrl,
    `CREATE OR REPLACE FUNCTION auth.email() RETURNS text LANGUAGE sql STABLE AS 'SELECT ''mine''::text'`,
  )
  const replaced = await readFunctions(restored)
  await reinstallFunctions(migrateOptions(restored.deps.config))
  expect(await readFunctions(restored)).toEqual(replaced)
})

it('auth migrate makes a function of the old service anew that somebody has dropped since the move', async () => {
  const restored = await restore('v2.196.0')
  await adopt(restored)
  await runSql(restored.database.superuserUrl, 'DROP FUNCTION auth.email()')
  const { functions } = await migrateUp(migrateOptions(restored.deps.config))
  expect(functions).toEqual(['email'])
})
