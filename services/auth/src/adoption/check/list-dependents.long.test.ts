import { withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import { createNames } from '@trestle/database/names.ts'
import { expect, it } from 'vitest'
import { adopt, prepare, type Restored, restore } from '../../../test/adoption/adopted-app.ts'
import { runSql } from '../../../test/adoption/restored-database.ts'
import { createQuietDeps } from '../../commands/operator-deps.ts'
import { adoptCommand } from '../commands/adopt.ts'
import { listInhabitants } from './list-dependents.ts'

const KEY = `
  CREATE TABLE public.linked (provider text, subject text, FOREIGN KEY (provider, subject) REFERENCES auth.identities (provider, id));
  CREATE VIEW public.grouped AS SELECT i.provider, i.id, i.created_at FROM auth.identities i GROUP BY i.provider, i.id`
const READERS = `
  CREATE VIEW public.subjects AS SELECT user_id, id FROM auth.identities;
  CREATE VIEW public.emails AS SELECT user_id, email FROM auth.identities;
  CREATE TABLE public.vault (subject text);
  CREATE POLICY by_subject ON public.vault USING (EXISTS (SELECT FROM auth.identities i WHERE i.id = subject));
  CREATE FUNCTION public.written() RETURNS SETOF text LANGUAGE plpgsql AS 'BEGIN RETURN QUERY SELECT id FROM auth.identities; END';
  CREATE FUNCTION public.counted() RETURNS SETOF uuid LANGUAGE sql AS 'SELECT user_id FROM auth.identities';
  CREATE FUNCTION public.parsed() RETURNS SETOF text LANGUAGE sql BEGIN ATOMIC SELECT id FROM auth.identities; END`

/**
 * Runs `adopt --check`.
 * @param label the first word or words of the returned lines
 * @returns the lines, by default those about dependent objects, and the error message
 */
async function check({ deps }: Restored, label = 'depends') {
  const lines: string[] = []
  const command = adoptCommand(() => createQuietDeps(deps.config), {
    print: (line) => lines.push(line),
    ask: async () => undefined,
  })
  const failure = await command.parseAsync(['--check'], { from: 'user' }).then(
    () => undefined,
    (error: Error) => error.message,
  )
  return { lines: lines.filter((line) => line.startsWith(label)), failure }
}

it.each(['v2.43.1', 'v2.101.0'] as const)(
  'a database of %s is not adopted while something needs the key of identities that the switch replaces, and --check names it',
  async (version) => {
    const restored = await restore(version)
    const { superuserUrl } = restored.database
    await prepare(restored)
    // Create these objects after `--prepare`. The run must find them before the switch.
    await runSql(superuserUrl, KEY)
    const advice =
      'needs the key of auth.identities, which the switch replaces: drop it, and make it again afterwards with provider_id instead of id'
    const failure = `constraint linked_provider_subject_fkey on table public.linked ${advice}\nview public.grouped ${advice}`
    expect((await check(restored)).failure).toBe(failure)
    await expect(adopt(restored)).rejects.toThrow(new Error(failure))
    await runSql(superuserUrl, 'DROP TABLE public.linked; DROP VIEW public.grouped')
    await adopt(restored)
    await runSql(
      superuserUrl,
      `CREATE TABLE public.linked (provider text, subject text,
         FOREIGN KEY (provider, subject) REFERENCES auth.identities (provider, provider_id))`,
    )
  },
)

it('adopt --check names what reads the subjects of identities where their column gets another name', async () => {
  const restored = await restore('v2.43.1')
  await runSql(restored.database.superuserUrl, READERS)
  const led = 'on identities: it goes on reading the subject at the provider, whose column id becomes provider_id'
  expect(await check(restored)).toEqual({
    lines: [
      `depends    function public.parsed() ${led}`,
      'depends    function public.written() on identities: its column id becomes provider_id, and id another value; change it after auth adopt',
      `depends    policy by_subject on public.vault ${led}`,
      `depends    view public.subjects ${led}`,
    ],
    failure: undefined,
  })
})

const WHOLE_ROWS = `
  CREATE VIEW public.listed AS SELECT i.* FROM auth.identities i;
  CREATE VIEW public.packed AS SELECT i.user_id, to_jsonb(i) AS data FROM auth.identities i;
  CREATE VIEW public.counted AS SELECT count(*) FROM auth.identities;
  CREATE TABLE public.vault (data jsonb);
  CREATE POLICY by_row ON public.vault USING (EXISTS (SELECT FROM auth.identities i WHERE to_jsonb(i) = data));
  CREATE FUNCTION public.parsed() RETURNS SETOF jsonb LANGUAGE sql BEGIN ATOMIC SELECT to_jsonb(i) FROM auth.identities i; END;
  CREATE FUNCTION public.aliased() RETURNS SETOF jsonb LANGUAGE sql AS 'SELECT to_jsonb(i) FROM auth.identities AS i';
  CREATE FUNCTION public.named() RETURNS SETOF jsonb LANGUAGE sql AS 'SELECT row_to_json(identities)::jsonb FROM auth.identities';
  CREATE FUNCTION public.starred() RETURNS SETOF text LANGUAGE plpgsql AS
    'DECLARE r record; BEGIN FOR r IN SELECT * FROM auth.identities LOOP RETURN NEXT r.id; END LOOP; END';
  CREATE FUNCTION public.taken(i auth.identities) RETURNS jsonb LANGUAGE sql AS 'SELECT to_jsonb(i)';
  CREATE FUNCTION public.columns() RETURNS SETOF text LANGUAGE sql AS
    'SELECT i.email FROM auth.identities i WHERE i.provider = ''email'' ORDER BY i.email';
  CREATE FUNCTION public.noted() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN INSERT INTO public.vault VALUES (to_jsonb(NEW)); RETURN NEW; END';
  CREATE TRIGGER noted AFTER INSERT ON auth.identities FOR EACH ROW EXECUTE FUNCTION public.noted();
  CREATE FUNCTION public.checked() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN IF NEW.provider = ''x'' THEN RAISE ''no''; END IF; RETURN NEW; END';
  CREATE TRIGGER checked AFTER INSERT ON auth.identities FOR EACH ROW EXECUTE FUNCTION public.checked()`

it('adopt --check names what reads whole rows of identities, where it finds another id afterwards', async () => {
  const restored = await restore('v2.43.1')
  await runSql(restored.database.superuserUrl, WHOLE_ROWS)
  const changed = 'on identities: its column id becomes provider_id, and id another value; change it after auth adopt'
  const led = 'on identities: it goes on reading the subject at the provider, whose column id becomes provider_id'
  expect(await check(restored)).toEqual({
    lines: [
      `depends    function public.aliased() ${changed}`,
      `depends    function public.named() ${changed}`,
      `depends    function public.noted() ${changed}`,
      `depends    function public.parsed() ${changed}`,
      `depends    function public.starred() ${changed}`,
      `depends    function public.taken(auth.identities) ${changed}`,
      `depends    policy by_row on public.vault ${changed}`,
      `depends    view public.listed ${led}`,
      `depends    view public.packed ${changed}`,
    ],
    failure: undefined,
  })
})

it('adopt --check names no reader of identities where the version has both columns', async () => {
  const restored = await restore('v2.196.0')
  await runSql(restored.database.superuserUrl, 'CREATE VIEW public.own AS SELECT id FROM auth.identities')
  expect(await check(restored)).toEqual({ lines: [], failure: undefined })
})

it('adopt --check looks for names of identities in a time that grows with the length of a function', async () => {
  const restored = await restore('v2.43.1')
  // Two functions of 2 MB. A column follows each table alias in both, but the second ends with a whole-row reference.
  const many = (count: number) =>
    Array.from({ length: count }, (_, n) => `PERFORM n${n}.email FROM auth.identities n${n};`).join('\n')
  await runSql(
    restored.database.superuserUrl,
    `CREATE FUNCTION public.columns() RETURNS void LANGUAGE plpgsql AS $$ BEGIN ${many(40_000)} END $$;
     CREATE FUNCTION public.row() RETURNS void LANGUAGE plpgsql AS $$ BEGIN ${many(40_000)} PERFORM to_jsonb(n7); END $$`,
  )
  expect(await check(restored)).toEqual({
    lines: [
      'depends    function public."row"() on identities: its column id becomes provider_id, and id another value; change it after auth adopt',
    ],
    failure: undefined,
  })
})

it('adopt --check leaves out the objects that an extension has made in the schema', async () => {
  const restored = await restore('v2.196.0')
  await runSql(
    restored.database.superuserUrl,
    `CREATE EXTENSION pgcrypto SCHEMA auth; CREATE EXTENSION pg_stat_statements SCHEMA auth;
     CREATE TABLE auth.notes (n int); CREATE FUNCTION auth.note() RETURNS int LANGUAGE sql AS 'SELECT 1'`,
  )
  expect(await check(restored, 'left alone')).toEqual({
    lines: ['left alone note()', 'left alone notes'],
    failure: undefined,
  })
})

it('finds the objects of a schema whose name needs quotes', async () => {
  const { superuserUrl: url } = (await restore('v2.196.0')).database
  await runSql(
    url,
    `ALTER SCHEMA auth RENAME TO "Old-Auth"; CREATE TABLE "Old-Auth".notes (n int);
     CREATE FUNCTION "Old-Auth".note() RETURNS int LANGUAGE sql AS 'SELECT 1'`,
  )
  const names = createNames('Old-Auth')
  const found = await withDatabase({ url }, (db) => listInhabitants(db, { names }))
  expect(found).toEqual(['note()', 'notes'])
})
