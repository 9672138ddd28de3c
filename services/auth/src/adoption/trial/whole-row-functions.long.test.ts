import { expect, it } from 'vitest'
import { prepare, type Restored, restore } from '../../../test/adoption/adopted-app.ts'
import { runSql } from '../../../test/adoption/restored-database.ts'
import { prepareAdoption } from '../use-cases/adopt-database.ts'
import { checkAdoption } from '../use-cases/check-adoption.ts'
import { findTakenTables, type RowSource } from './whole-row-functions.ts'

const trigger = (name: string, body: string) => `
  CREATE FUNCTION public.${name}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS
    $$ BEGIN ${body}; RETURN NULL; END $$;
  CREATE TRIGGER ${name} AFTER UPDATE ON auth.users FOR EACH ROW EXECUTE FUNCTION public.${name}()`

const routine = (head: string, body: string) =>
  `CREATE FUNCTION public.${head} LANGUAGE plpgsql AS $$ DECLARE r auth.users%rowtype; n bigint; BEGIN ${body}; END $$`

/** Returns a function that returns all columns of a table. */
const query = (name: string, statement: string) =>
  routine(`${name}() RETURNS TABLE (a uuid)`, `return query ${statement}`)

/** Each of these functions fails if the table gets more columns. PostgreSQL detects this only when the function runs. */
const WRITERS = [
  routine('all_rows() RETURNS void', 'insert into public.history select distinct u.* from auth.users u'),
  routine('argument(u auth.users) RETURNS void', 'insert into public.history select u.*'),
  routine(
    'variable() RETURNS void',
    'select * into r from auth.users limit 1; insert into public.history values (r.*)',
  ),
  routine(
    'merged() RETURNS void',
    'merge into public.history h using (table auth.users) u on false when not matched then do nothing',
  ),
  routine(
    'moved() RETURNS void',
    'with gone as (delete from auth.sessions returning *) insert into public.visits select * from gone',
  ),
  `CREATE FUNCTION public.listed() RETURNS void LANGUAGE plpgsql AS $$ DECLARE us auth.users[];
     BEGIN select array_agg(u) into us from auth.users u; insert into public.history select * from unnest(us); END $$`,
  routine(
    'updated() RETURNS void',
    'update public.visits v set (id, user_id) = (select * from auth.sessions s where s.id = v.id)',
  ),
  query('claims', 'select * from auth.mfa_amr_claims'),
  query('by_table_name', 'select auth.users.* from auth.users'),
  query('by_distinct', 'select distinct on (id) * from auth.users'),
  query('by_row', 'select (u).* from auth.users as u'),
  query('by_table', 'table auth.users'),
  query('by_union', 'select * from public.history union all select * from auth.users'),
  query('by_deletion', 'delete from auth.sessions s where s.id is null returning s.*'),
  query('by_text', `execute 'select * from auth.identities' || '' `),
  'CREATE FUNCTION public.records() RETURNS SETOF record LANGUAGE sql AS $$ select * from auth.sessions $$',
]

/** The same forms in SQL. PostgreSQL parses these functions when they are created. */
const IN_SQL = Object.entries({
  by_table_name: 'select auth.users.* from auth.users',
  by_distinct: 'select distinct on (id) * from auth.users',
  by_row: 'select (u).* from auth.users u',
  by_table: 'table auth.users',
  by_union: 'select * from public.history union all select * from auth.users',
  by_deletion: 'delete from auth.users where false returning *',
}).map(
  ([name, body]) => `CREATE FUNCTION public.sql_${name}() RETURNS SETOF public.history LANGUAGE sql AS $$ ${body} $$`,
)
const PARSED =
  'CREATE FUNCTION public.parsed() RETURNS SETOF auth.users LANGUAGE sql BEGIN ATOMIC select * from auth.users; END'

/** More columns do not affect any of these functions. */
const OTHERS = [
  trigger('as_json', 'insert into public.log values (to_jsonb(new.*)), (row_to_json(old.*)::jsonb)'),
  trigger('by_name', 'insert into public.log (document) values (to_jsonb(new.id))'),
  trigger(
    'compared',
    `-- insert into h select old.*\n if row(new.*) is distinct from row(old.*) then insert into public.log values ('1'); end if`,
  ),
  routine('counted() RETURNS bigint', 'insert into public.log select count(*) from auth.users; return 2'),
  routine('doubled() RETURNS SETOF int', 'return query select 2 * email_change_confirm_status from auth.users'),
  routine(
    'read() RETURNS void',
    'select * into r from auth.users limit 1; insert into public.log values (to_jsonb(r.*))',
  ),
  'CREATE FUNCTION public.texts() RETURNS SETOF auth.users LANGUAGE sql AS $$ select * from auth.users $$',
  'CREATE FUNCTION public.whole_rows() RETURNS SETOF auth.users LANGUAGE sql BEGIN ATOMIC select u from auth.users u; END',
  'CREATE VIEW public.everybody AS SELECT * FROM auth.users',
  'CREATE FUNCTION public.viewed() RETURNS SETOF public.everybody LANGUAGE sql AS $$ select * from public.everybody $$',
  'CREATE RULE kept AS ON UPDATE TO auth.mfa_factors DO ALSO INSERT INTO public.factors SELECT new.*',
]

/** These functions may take the columns of a table of this service. */
const DOUBTFUL = [
  query('joined', 'select p.* from public.log p join auth.users u on true'),
  routine('looped() RETURNS SETOF public.history', 'for r in select * from auth.users loop return next r; end loop'),
]

const advice = 'Name the columns in it that it needs, or drop it; --force goes on all the same'
const takes = (name: string, table = 'users') =>
  `the function public.${name} takes all columns of auth.${table}, which gets columns of this service: it would fail, and with it what calls it. ${advice}`
const mayTake = (name: string) =>
  `the function public.${name} may take all columns of auth.users, which gets columns of this service: where it does, name the columns that it needs`
const fails = (name: string, type: string) =>
  `the function public.${name}() fails once auth.users gets columns of this service: return type mismatch in function declared to return ${type}. ${advice}`

const JUDGED = [
  fails('parsed', 'auth.users'),
  ...['by_deletion', 'by_distinct', 'by_row', 'by_table', 'by_table_name'].map((name) =>
    fails(`sql_${name}`, 'history'),
  ),
  `the function public.sql_by_union() fails once auth.users gets columns of this service: each UNION query must have the same number of columns. ${advice}`,
]
const READ = [
  takes('all_rows()'),
  takes('argument(auth.users)'),
  takes('by_deletion()', 'sessions'),
  takes('by_distinct()'),
  takes('by_row()'),
  takes('by_table()'),
  takes('by_table_name()'),
  takes('by_text()', 'identities'),
  takes('by_union()'),
  takes('claims()', 'mfa_amr_claims'),
  takes('listed()'),
  takes('merged()'),
  takes('moved()', 'sessions'),
  takes('records()', 'sessions'),
  takes('updated()', 'sessions'),
  takes('variable()'),
]

const hasBegun = async ({ database }: Restored) =>
  (await runSql(database.superuserUrl, "SELECT to_regnamespace('auth_before_trestle') IS NOT NULL AS begun"))[0]

it('functions that take all columns of a table that gets more are named, and stop an adoption before it begins', async () => {
  const restored = await restore('v2.43.1')
  const url = restored.database.superuserUrl
  const judge = async (options: { readonly force: boolean }) => {
    const { obstacles, doubts } = await checkAdoption(restored.deps, options)
    return { obstacles, doubts }
  }
  await runSql(
    url,
    `CREATE TABLE public.history AS SELECT * FROM auth.users WITH NO DATA; CREATE TABLE public.log (document jsonb);
     CREATE TABLE public.visits AS SELECT * FROM auth.sessions WITH NO DATA;
     CREATE TABLE public.factors AS SELECT * FROM auth.mfa_factors WITH NO DATA`,
  )
  await runSql(url, OTHERS.join(';'))
  expect(await judge({ force: false })).toEqual({ obstacles: [], doubts: [] })
  await runSql(url, [...WRITERS, ...IN_SQL, PARSED, ...DOUBTFUL].join(';'))
  const doubts = [mayTake('joined()'), mayTake('looped()')]
  expect(await judge({ force: false })).toEqual({ obstacles: [...JUDGED, ...READ], doubts })
  await expect(prepare(restored)).rejects.toThrow(new Error([...JUDGED, ...READ].join('\n')))
  expect(await hasBegun(restored)).toEqual({ begun: false })
  expect(await judge({ force: true })).toEqual({ obstacles: [], doubts: [...JUDGED, ...READ, ...doubts] })
  const lines: string[] = []
  expect(await prepareAdoption(restored.deps, { force: true, report: (line) => lines.push(line) })).toBe(true)
  expect(lines.slice(0, 2)).toEqual([`look at    ${JUDGED[0]}`, `look at    ${JUDGED[1]}`])
})

it('texts that are made to be read slowly hold no check up, and functions whose texts are too long are named', async () => {
  const restored = await restore('v2.43.1')
  const slow = `insert into public.history select * auth.users ${'users a '.repeat(25_600)}`
  await runSql(
    restored.database.superuserUrl,
    `SET check_function_bodies = off; ${routine('slow() RETURNS void', slow)};
     ${routine('long() RETURNS void', `select * from auth.users -- ${'-'.repeat(1_048_576)}\n`)}`,
  )
  const { obstacles, doubts } = await checkAdoption(restored.deps, { force: false })
  expect({ obstacles, doubts }).toEqual({
    obstacles: [],
    doubts: [
      'functions were not read, since their texts are too long: see that they take no whole row of a table of auth: public.long()',
    ],
  })
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

const named: RowSource = { table: 'users', as: 'name', word: 'users', returnsOthers: false, returnsSet: false }

it.each([
  ['insert into h select * from auth.users', 'sure'],
  ['insert into h select * from auth . "users"', 'sure'],
  ['MERGE INTO h USING (TABLE ONLY auth.users) u ON false WHEN NOT MATCHED THEN DO NOTHING', 'sure'],
  ['insert into h select u.* from auth.users as u', 'sure'],
  ['insert into h (with a as (select 1 from auth.users u) select ( u ) . * from a)', 'sure'],
  ['insert into h select * from auth.users users, users a, a.*', 'sure'],
  ['insert into h select p.* from p join auth.users u on true', 'unsure'],
  ['declare r auth.users%rowtype; begin insert into h values (r.*); end', 'sure'],
  ['declare u auth.users; begin select * into u from auth.users; insert into h values (u.*); end', 'sure'],
  ['declare all_of "auth"."users"[] := x; begin insert into h select r.* from unnest(all_of) r; end', 'sure'],
  ['declare us auth.users[]; begin insert into h select * from unnest ( "us" ) ; end', 'sure'],
  ['declare us auth.users[]; begin insert into h select * from unnest(ids); end', undefined],
  ['declare us auth.users[]; begin insert into h select id from unnest(us); end', undefined],
  ['update h set (id, email) = (select * from auth.users u where u.id = h.id)', 'sure'],
  ['update h as a set ( id ) = ( select u.* from auth.users u )', 'sure'],
  ['insert into h values (1) on conflict (id) do update set (id, email) = (table auth.users)', 'sure'],
  ['update h set (id, email) = row(u.*) from auth.users u', 'sure'],
  ['update h set ( id ) = ROW ( ( u ).* ) from auth.users as u', 'sure'],
  ['declare u auth.users; begin update h set (id, email) = row(u.*); end', 'sure'],
  ['update h set (id, email) = row(u.id, u.email) from auth.users u', undefined],
  ['update h set changed = row(u.*) is distinct from row(h.*) from auth.users u', undefined],
  ['insert into h select u.id from auth.users u where row(u.id) = row(h.*)', undefined],
  ['declare us auth.users[]; begin insert into h values ((us[1]).*); end', 'sure'],
  ['declare us auth.users[]; begin insert into h select ("us"[array_length(us, 1)]).*; end', 'sure'],
  ['declare us auth.users[]; begin insert into h values (to_jsonb((us[1]).*)); end', undefined],
  ['declare us auth.users[]; begin insert into h values ((us[1]).id); end', undefined],
  ['update h set seen = now(), (id, email) = (select * from auth.users u where u.id = h.id)', 'sure'],
  ['update h set seen = f(1), (id, email) = row(u.*) from auth.users u', 'sure'],
  ['update arch.users a set (id, email) = (select * from auth.users u where u.id = a.id)', 'sure'],
  ['for r in select u.*, (u.id) = (select 1) from auth.users u loop', undefined],
  ['update h set (id, email) = (select u.id, u.email from auth.users u)', undefined],
  ['update h set seen = true where exists (select * from auth.users)', undefined],
  ['update auth.users set (id, email) = (select * from p)', undefined],
  ['declare u auth.users not null := x; begin insert into h select u.*; end', 'sure'],
  ["raise notice '-- it''s --'; insert into h select * from auth.users;", 'sure'],
  ["select 'Accept: */*'; insert into h select * from auth.users; select 'text/*, */*'", 'sure'],
  [String.raw`select e'\'--'; insert into h select * from auth.users`, 'sure'],
  ['select count(*) from (select * from auth.users except select * from h) d', 'unsure'],
  ['select u.* from auth.users u intersect select h.* from h', 'unsure'],
  ['select count(*) from (table auth.users except table h) d', 'unsure'],
  ['declare c cursor for select 1 from auth.users; begin insert into h select p.* from p; end', undefined],
  ['declare n int; begin insert into h select p.* from p; delete from auth.users; end', undefined],
  ["insert into h select '*' -- * from auth.users\n from p", undefined],
  ["insert into h select '/*' from auth.users; -- */ \n insert into h select * from auth.users", 'sure'],
  ["insert into h values ('image/*'); insert into h select * from auth.users", 'sure'],
  ['insert into h select 1 from auth.users a.*', 'unsure'],
  ['insert into h /* auth.users */ select * from p', undefined],
  ['insert into h select 1 from auth.users -- *\n', undefined],
  ['insert into h select to_jsonb(u.*), count(*) from auth.users u', undefined],
  ['insert into h select 2 * n from auth.users', undefined],
  ['insert into h select * from auth.users_of_mine', undefined],
  ['insert into auth.users select * from p', undefined],
  ['select * from auth.users', undefined],
  ['insert into h select 1; select * from auth.users', undefined],
  ['drop table users; insert into h select 1', undefined],
])('of the text %j it says whether all columns are taken: %s', (text, verdict) => {
  const taken = findTakenTables({ text, isSql: false, sources: [named] })
  expect(taken).toEqual(new Map(verdict === undefined ? [] : [['users', verdict === 'sure']]))
})

it('rows that a trigger or an argument has count only where a statement writes them', () => {
  const sources: RowSource[] = [
    { ...named, as: 'trigger', word: '' },
    { ...named, table: 'sessions', as: 'argument', word: '' },
  ]
  const judge = (text: string) => [...findTakenTables({ text, isSql: false, sources })]
  expect(judge('insert into h select new.*')).toEqual([
    ['users', true],
    ['sessions', true],
  ])
  expect(judge('insert into h select s.*')).toEqual([['sessions', true]])
  expect(judge('insert into h select * from unnest(all_of)')).toEqual([['sessions', false]])
  expect(judge('select new.*; insert into h select 1')).toEqual([])
})

it('what returns rows counts where they have another type, and is unsure where it returns them one by one', () => {
  const judge = (source: Partial<RowSource>, text: string) => [
    ...findTakenTables({ text, isSql: false, sources: [{ ...named, ...source }] }),
  ]
  expect(judge({}, 'return query select * from auth.users')).toEqual([])
  expect(judge({ returnsOthers: true }, 'return query select * from auth.users')).toEqual([['users', true]])
  const loop = 'for r in select * from auth.users loop return next r; end loop'
  expect(judge({ returnsSet: true }, loop)).toEqual([['users', false]])
  expect(judge({ returnsSet: true }, 'select * from auth.users')).toEqual([])
})

/** Each of these texts makes a backtracking pattern read the rest of the text again from every position. */
const HOSTILE = [
  'users a ',
  'a.* users a ',
  '/*',
  '/*--\n',
  "'",
  "e'\\",
  'declare ',
  'declare u users ',
  'union ',
  ' ',
  'a',
  'a(',
  'users as ',
  '*;',
  'users*;',
  'into "',
  'update h set (a) = (',
  'set (',
  'set (a)',
  'set (a) = row(',
  ', (a',
  'set a = 1, (',
  'set , (a) = ',
  'a[',
  'a[b] ',
  '(a[b]).*',
  'unnest(a)',
  ') ',
]

it.each(HOSTILE)('a text of a megabyte that repeats %j is read to its end', (repeated) => {
  const text = `insert into h select * from ${repeated.repeat(1_000_000 / repeated.length)}`
  // A backtracking pattern would take hours, so the test would time out.
  expect(findTakenTables({ text, isSql: true, sources: [named] }).size).toBeLessThanOrEqual(1)
})
