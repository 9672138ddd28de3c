import { randomUUID } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import { prepare, type Restored, restore } from '../../../test/adoption/adopted-app.ts'
import { runSql } from '../../../test/adoption/restored-database.ts'
import { checkAdoption } from '../use-cases/check-adoption.ts'

/** Restores a database with a role that may only create objects in `public`. The role's code notes who runs it. */
async function restoreWithStranger() {
  const restored = await restore('v2.196.0')
  const { superuserUrl } = restored.database
  const role = `stranger_${randomUUID().slice(0, 8)}`
  await runSql(
    superuserUrl,
    `CREATE ROLE ${role}; GRANT USAGE, CREATE ON SCHEMA public TO ${role}; SET ROLE ${role};
     CREATE SEQUENCE public.runs; GRANT ALL ON SEQUENCE public.runs TO PUBLIC;
     -- What a sequence has given is not taken back with the transaction.
     CREATE FUNCTION public.note(given int) RETURNS boolean LANGUAGE plpgsql AS
       $$ BEGIN PERFORM pg_catalog.nextval('public.runs'); RETURN true; END $$;
     CREATE DOMAIN public.trap AS int CHECK (public.note(VALUE));
     CREATE TYPE public.baited AS (value public.trap)`,
  )
  onTestFinished(() => runSql(superuserUrl, `DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`).then(() => {}))
  const act = (text: string) => runSql(superuserUrl, `SET ROLE ${role}; SET check_function_bodies = off; ${text}`)
  return { restored, role, act }
}

const countRuns = async ({ database }: Restored) =>
  (await runSql(database.superuserUrl, 'SELECT is_called AS "hasRun" FROM public.runs'))[0]

const untried = (role: string, names: string) =>
  `functions in SQL that name auth.users were not tried, since ${role} could have had code of their own run by that: see that they take no whole row of the table: ${names}`

async function judge({ deps }: Restored) {
  const { obstacles, doubts } = await checkAdoption(deps, { force: false })
  return { obstacles, doubts }
}

describe('functions in SQL of a role that may not make triggers on the tables', () => {
  it('are not parsed as the owner of the tables, by --check or --prepare, and are named', async () => {
    const { restored, role, act } = await restoreWithStranger()
    await act(`CREATE FUNCTION public.baited_count() RETURNS bigint LANGUAGE sql AS
      $$ SELECT count(*) FROM auth.users WHERE '(1)'::public.baited IS NOT NULL $$`)
    expect(await judge(restored)).toEqual({ obstacles: [], doubts: [untried(role, 'public.baited_count()')] })
    await prepare(restored)
    expect(await countRuns(restored)).toEqual({ hasRun: false })
  })

  it('are named, however many they are', async () => {
    const { restored, role, act } = await restoreWithStranger()
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((letter) => `public.count_${letter}()`)
    const body = 'RETURNS bigint LANGUAGE sql AS $$ SELECT count(*) FROM auth.users $$'
    await act(names.map((name) => `CREATE FUNCTION ${name} ${body}`).join(';'))
    expect(await judge(restored)).toEqual({ obstacles: [], doubts: [untried(role, names.join(', '))] })
  })

  it('are recognized by their texts where they take all columns', async () => {
    const { restored, role, act } = await restoreWithStranger()
    await act(`CREATE TABLE public.history (id uuid);
      CREATE FUNCTION public.everybody() RETURNS SETOF public.history LANGUAGE sql AS $$ SELECT * FROM auth.users $$`)
    const { obstacles, doubts } = await judge(restored)
    expect(obstacles).toEqual([
      'the function public.everybody() takes all columns of auth.users, which gets columns of this service: it would fail, and with it what calls it. Name the columns in it that it needs, or drop it; --force goes on all the same',
    ])
    expect(doubts).toEqual([untried(role, 'public.everybody()')])
  })
})

it('a name of a function that has statements in it adds none to the trial', async () => {
  const { restored } = await restoreWithStranger()
  const { superuserUrl } = restored.database
  await runSql(
    superuserUrl,
    `REVOKE CREATE ON SCHEMA public FROM PUBLIC; SET check_function_bodies = off; CREATE SCHEMA own; SET search_path = own;
     CREATE FUNCTION own."a() returns int return 1;/*"() RETURNS int LANGUAGE sql SET search_path = '' AS
       $$ */ CREATE TABLE auth.made AS SELECT FROM auth.users; COMMIT; --$$`,
  )
  expect(await judge(restored)).toEqual({ obstacles: [], doubts: [] })
  expect(await runSql(superuserUrl, `SELECT to_regclass('auth.made') IS NULL AS "isAbsent"`)).toEqual([
    { isAbsent: true },
  ])
})

describe('functions in SQL of an application', () => {
  const NAMED = (head: string) =>
    `CREATE FUNCTION public.named() RETURNS bigint LANGUAGE sql ${head} AS $$ SELECT count(*) FROM auth.users WHERE email = '(1)' $$`

  it('run no operator that somebody else has put into a schema of their path', async () => {
    const { restored, role, act } = await restoreWithStranger()
    await act(`
      CREATE FUNCTION public.same(one varchar, other public.baited) RETURNS boolean LANGUAGE sql RETURN true;
      CREATE OPERATOR public.= (LEFTARG = varchar, RIGHTARG = public.baited, FUNCTION = public.same)`)
    await runSql(restored.database.superuserUrl, `SET check_function_bodies = off; ${NAMED('')}`)
    expect(await judge(restored)).toEqual({ obstacles: [], doubts: [untried(role, 'public.named()')] })
    expect(await countRuns(restored)).toEqual({ hasRun: false })
  })

  it('are tried where their own path leads to no such schema', async () => {
    const { restored } = await restoreWithStranger()
    await runSql(restored.database.superuserUrl, NAMED(`SET search_path = ''`))
    expect(await judge(restored)).toEqual({ obstacles: [], doubts: [] })
  })
})
