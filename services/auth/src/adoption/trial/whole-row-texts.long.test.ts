import { expect, it } from 'vitest'
import { findTakenTables, type RowSource } from './whole-row-texts.ts'

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

/** Each makes a pattern that goes back look at the rest of the text from each place. */
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
  // A pattern that goes back takes hours: the test would run out of its time.
  expect(findTakenTables({ text, isSql: true, sources: [named] }).size).toBeLessThanOrEqual(1)
})
