import { PassThrough, Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { adoptCommand, askOn } from '../../src/adoption/commands/adopt.ts'
import { createQuietDeps } from '../../src/commands/operator-deps.ts'
import { restore, restoreAdopted } from './adopted-app.ts'
import { runSql } from './restored-database.ts'

it('auth adopt checks, adopts, asks before it goes back, and forgets', async () => {
  const { deps } = await restore('v2.196.0')
  const lines: string[] = []
  let answer = 'n'
  const ask = async (question: string) => {
    lines.push(question)
    return answer
  }
  const run = async (...flags: readonly string[]) => {
    lines.length = 0
    const command = adoptCommand(() => createQuietDeps(deps.config), { print: (line) => lines.push(line), ask })
    await command.parseAsync(flags, { from: 'user' })
    return [...lines]
  }
  const found = [
    'migration  20260625000000',
    'rows       users: 23',
    ...Array.from({ length: 14 }, () => expect.stringMatching(/^rows {7}\w+: \d+$/)),
    'not served sso_providers: 1 rows stay as they are',
    'not served oauth_clients: 1 rows stay as they are',
    'not served oauth_consents: 1 rows stay as they are',
    'lost       2 users who sign in only by sso, which this service does not serve',
    'lost       1 sessions of OAuth clients, which this service does not serve: they go on only after adopt --undo',
    'again      3 users have a factor by SMS or WebAuthn, or a passkey: who is being asked for it at the switch is asked again',
    'time       on two idle cores, about 6 s for --prepare, while the old service serves, then about 6 s for auth adopt, while nobody does; busy cores take several times as long',
  ]
  expect(await run('--check')).toEqual([...found, 'ok         auth adopt can run'])
  const costs = '0 of 27 sessions have begun, refreshed or ended by a theft since the switch: their users sign in again'
  const question = 'Give the old service its database back? [y/N] '
  const adopted = [
    'the directory of users is filled',
    'the refresh tokens are copied',
    expect.stringMatching(/^adopted migration 20260625000000 of supabase\/auth; requests waited for \d+\.\d s$/),
    'start the service, with AUTH_PROFILE=supabase unless names GOTRUE_… select it; auth adopt --undo goes back',
  ]
  const prepared = [
    ...adopted.slice(0, 2),
    'lost       2 users who sign in only by sso, which this service does not serve',
    'lost       1 sessions of OAuth clients, which this service does not serve: they go on only after adopt --undo',
    'prepared: end the old service, run auth adopt, and start this service; auth adopt --undo gives up',
  ]
  expect(await run('--prepare')).toEqual(prepared)
  expect(await run('--prepare')).toEqual(prepared)
  expect(await run('--check')).toEqual([
    ...found,
    'ok         an adoption has begun: run auth adopt again, which continues it',
  ])
  expect(await run('--undo')).toEqual([
    'this service has not taken over: no session ends, and the old service may go on serving',
    question,
    'nothing changed',
  ])
  expect(await run()).toEqual(adopted)
  expect(await run('--check')).toEqual([
    'migration  20260625000000',
    'ok         the database is adopted already: start the service',
  ])
  expect(await run('--prepare')).toEqual(['the database is adopted already: start the service'])
  expect(await run('--undo')).toEqual([costs, question, 'nothing changed'])
  answer = 'y'
  expect(await run('--undo')).toEqual([costs, question, 'the old service has its database back'])
  expect(await run()).toEqual(adopted)
  expect(await run('--undo', '--yes')).toEqual([costs, 'the old service has its database back'])
  await run()
  const forgotten = [
    expect.stringMatching(
      /^this service took over at \d{4}-\d\d-\d\dT[\d:.]+Z; auth adopt --undo is not possible afterwards$/,
    ),
    'drops      auth_before_trestle.refresh_tokens: 31 rows',
    ...Array.from({ length: 7 }, () => expect.stringMatching(/^drops {6}auth_before_trestle\.\w+: \d+ rows$/)),
  ]
  const doubt = 'Drop this, without a way back? [y/N] '
  answer = 'n'
  expect(await run('--forget')).toEqual([...forgotten, doubt, 'nothing changed'])
  answer = 'y'
  expect(await run('--forget')).toEqual([...forgotten, doubt, 'dropped what adopt --undo needs'])
  expect(await run('--check')).toEqual([
    'migration  20260625000000',
    'ok         the database is adopted for good, without a way back: start the service',
  ])
  await expect(run('--undo')).rejects.toThrow('the schema auth is adopted for good: adopt --forget has dropped')
})

it.each(['--undo', '--forget'])('auth adopt %s takes the end of its input for a no, and names --yes', async (flag) => {
  const restored = await restoreAdopted('v2.196.0')
  const output = new PassThrough()
  const ask = (question: string) => askOn(Readable.from([]), output, question)
  const command = adoptCommand(() => createQuietDeps(restored.deps.config), { print: () => {}, ask })
  await expect(command.parseAsync([flag], { from: 'user' })).rejects.toThrow(
    'nothing changed: nobody has answered. --yes answers the question',
  )
  // The error must begin on a new line.
  expect(String(output.read())).toMatch(/\[y\/N\] \n$/)
  expect(await askOn(Readable.from(['y\n']), output, 'Again? ')).toBe('y')
})

it('auth adopt --check estimates nothing for a database that cannot be adopted', async () => {
  const { database, deps } = await restore('v2.196.0')
  await runSql(database.superuserUrl, "INSERT INTO auth.schema_migrations VALUES ('20990101000000')")
  const lines: string[] = []
  const command = adoptCommand(() => createQuietDeps(deps.config), {
    print: (line) => lines.push(line),
    ask: async () => undefined,
  })
  await expect(command.parseAsync(['--check'], { from: 'user' })).rejects.toThrow(
    'migration 20990101000000 is newer than supabase/auth 2.196, which this release knows: --force takes it all the same',
  )
  expect(lines).toEqual(['migration  20990101000000'])
})

it('auth adopt --prepare names the function of an event trigger that refuses its statements', async () => {
  const { deps, database } = await restore('v2.196.0')
  await runSql(
    database.superuserUrl,
    `CREATE FUNCTION public.refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not today'; END $$;
     CREATE EVENT TRIGGER guard ON ddl_command_start WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION public.refuse()`,
  )
  const command = adoptCommand(() => createQuietDeps(deps.config), { print: () => {}, ask: async () => undefined })
  await expect(command.parseAsync(['--prepare'], { from: 'user' })).rejects.toThrow(
    new Error('not today (PL/pgSQL function public.refuse() line 1 at RAISE)'),
  )
})
