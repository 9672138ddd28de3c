import { expect, it } from 'vitest'
import { checkAdoption } from '../../src/use-cases/check-adoption.ts'
import { prepareAdoption } from '../../src/use-cases/prepare-adoption.ts'
import { prepare, type Restored, restore } from './adopted-app.ts'
import { runSql } from './restored-database.ts'

const trigger = (name: string, body: string) => `
  CREATE FUNCTION public.${name}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS
    $$ BEGIN ${body}; RETURN NULL; END $$;
  CREATE TRIGGER ${name} AFTER UPDATE ON auth.users FOR EACH ROW EXECUTE FUNCTION public.${name}()`

const routine = (head: string, body: string) =>
  `CREATE FUNCTION public.${head} LANGUAGE plpgsql AS $$ DECLARE r auth.users%rowtype; n bigint; BEGIN ${body}; END $$`

/** Each fails once the table has more columns. */
const WRITERS = [
  trigger('by_select', 'insert into public.history select (old).*'),
  trigger('by_values', 'INSERT INTO public.history VALUES (NEW.*)'),
  trigger('by_parameter', `EXECUTE 'insert into public.history select ($1).*' USING old`),
  routine('all_rows() RETURNS void', 'insert into public.history select distinct u.* from auth.users u'),
  routine('argument(u auth.users) RETURNS void', 'insert into public.history select u.*'),
  routine(
    'variable() RETURNS void',
    'select * into r from auth.users limit 1; insert into public.history values (r.*)',
  ),
  routine('claims() RETURNS TABLE (a uuid)', 'return query select * from auth.mfa_amr_claims'),
  'CREATE FUNCTION public.records() RETURNS SETOF record LANGUAGE sql AS $$ select * from auth.sessions $$',
  'CREATE FUNCTION public.parsed() RETURNS SETOF auth.users LANGUAGE sql BEGIN ATOMIC select * from auth.users; END',
]

/** None of them minds more columns. */
const OTHERS = [
  trigger('as_json', 'insert into public.log values (to_jsonb(new.*)), (row_to_json(old.*)::jsonb)'),
  trigger('by_name', 'insert into public.log (document) values (to_jsonb(new.id))'),
  trigger(
    'compared',
    `-- insert into h select old.*\n if row(new.*) is distinct from row(old.*) then insert into public.log values ('1'); end if`,
  ),
  routine('counted() RETURNS bigint', 'insert into public.log select count(*) from auth.users; return 2'),
  routine(
    'read() RETURNS void',
    'select * into r from auth.users limit 1; insert into public.log values (to_jsonb(r.*))',
  ),
  'CREATE FUNCTION public.texts() RETURNS SETOF auth.users LANGUAGE sql AS $$ select * from auth.users $$',
  'CREATE FUNCTION public.whole_rows() RETURNS SETOF auth.users LANGUAGE sql BEGIN ATOMIC select u from auth.users u; END',
  'CREATE VIEW public.everybody AS SELECT * FROM auth.users',
]

const takes = (name: string, table: string) =>
  `the function ${name} takes all columns of auth.${table}, which gets columns of this service: it would fail, and with it what calls it. Name the columns in it that it needs, or drop it; --force goes on all the same`

const NAMED = [
  takes('public.all_rows()', 'users'),
  takes('public.argument(auth.users)', 'users'),
  takes('public.by_parameter()', 'users'),
  takes('public.by_select()', 'users'),
  takes('public.by_values()', 'users'),
  takes('public.claims()', 'mfa_amr_claims'),
  takes('public.parsed()', 'users'),
  takes('public.records()', 'sessions'),
  takes('public.variable()', 'users'),
]

const hasBegun = async ({ database }: Restored) =>
  (await runSql(database.superuserUrl, "SELECT to_regnamespace('auth_before_trestle') IS NOT NULL AS begun"))[0]

it('functions that take all columns of a table that gets more are named, and stop an adoption before it begins', async () => {
  const restored = await restore('v2.196.0')
  const url = restored.database.superuserUrl
  await runSql(
    url,
    `CREATE TABLE public.history AS SELECT * FROM auth.users WITH NO DATA; CREATE TABLE public.log (document jsonb)`,
  )
  await runSql(url, OTHERS.join(';'))
  expect((await checkAdoption(restored.deps, { force: false })).obstacles).toEqual([])
  await runSql(url, WRITERS.join(';'))
  expect((await checkAdoption(restored.deps, { force: false })).obstacles).toEqual(NAMED)
  await expect(prepare(restored)).rejects.toThrow(new Error(NAMED.join('\n')))
  expect(await hasBegun(restored)).toEqual({ begun: false })
  // The old service could sign nobody in: its UPDATE of the user fails in the trigger.
  expect((await checkAdoption(restored.deps, { force: true })).obstacles).toEqual([])
  await runSql(url, 'DROP FUNCTION public.records(), public.claims()')
  expect(await prepareAdoption(restored.deps, { force: true, report: () => {} })).toBe(true)
  await expect(runSql(url, 'UPDATE auth.users SET last_sign_in_at = now() WHERE email IS NOT NULL')).rejects.toThrow(
    'INSERT has more expressions than target columns',
  )
  // All columns of users are there by now.
  expect((await checkAdoption(restored.deps, { force: false })).obstacles).toEqual([])
})

const holds = (column: string, table: string) =>
  `the column ${column} has the type of auth.${table}, to which PostgreSQL adds no columns then: drop it, or make it jsonb`

it('columns that have the type of a table that gets more are named, and stop an adoption before it begins', async () => {
  const restored = await restore('v2.43.1')
  await runSql(
    restored.database.superuserUrl,
    `CREATE TABLE public.snapshots (session auth.sessions, identity auth.identities, users auth.users[]);
     CREATE DOMAIN public.factor AS auth.mfa_factors;
     CREATE TYPE public.pair AS (name text, factor public.factor);
     CREATE TABLE public.pairs (pair public.pair)`,
  )
  const named = [
    holds('public.pairs.pair', 'mfa_factors'),
    holds('public.snapshots.identity', 'identities'),
    holds('public.snapshots.users', 'users'),
  ]
  expect((await checkAdoption(restored.deps, { force: true })).obstacles).toEqual(named)
  await expect(prepare(restored)).rejects.toThrow(new Error(named.join('\n')))
  expect(await hasBegun(restored)).toEqual({ begun: false })
})
