import { expect, it } from 'vitest'
import { adoptCommand } from '../../src/adoption/commands/adopt.ts'
import { createQuietDeps } from '../../src/commands/operator-deps.ts'
import { loadAuthConfig } from '../../src/config.ts'
import { errorBody, statusAndBody } from '../bodies.ts'
import { adopt, openAdopted, prepare, restore } from './adopted-app.ts'
import { plainSession } from './plain-user.ts'
import { runSql, settingsFor } from './restored-database.ts'

const NOT_FOUND = errorBody(400, 'refresh_token_not_found', 'Invalid Refresh Token: Refresh Token Not Found')
const ALREADY_USED = errorBody(400, 'refresh_token_already_used', 'Invalid Refresh Token: Already Used')
const ofSession = (id: string) => `WHERE session_id = '${id}'`

it.each([
  ['TRUNCATE', () => 'TRUNCATE auth.refresh_tokens', NOT_FOUND],
  [
    'a delete of a replica',
    (id: string) => `SET session_replication_role = replica; DELETE FROM auth.refresh_tokens ${ofSession(id)}`,
    NOT_FOUND,
  ],
  [
    'a revocation of a replica',
    (id: string) =>
      `SET session_replication_role = replica; UPDATE auth.refresh_tokens SET revoked = true ${ofSession(id)}`,
    ALREADY_USED,
  ],
  [
    'another value of it, which a replica writes,',
    (id: string) =>
      `SET session_replication_role = replica; UPDATE auth.refresh_tokens SET token = 'new_' || token ${ofSession(id)}`,
    NOT_FOUND,
  ],
])(
  'a token that ends by %s after adopt --prepare continues no session after adopt',
  async (_way, statementFor, answer) => {
    const restored = await restore('v2.196.0')
    await prepare(restored)
    const { superuserUrl, manifest } = restored.database
    const session = manifest.users.find(({ name }) => name === 'plain')?.sessions.at(-1)
    await runSql(superuserUrl, statementFor(session?.session_id ?? ''))
    await adopt(restored)
    const { post } = await openAdopted(restored)
    const refreshed = await post('/token?grant_type=refresh_token', { refresh_token: session?.refresh_token })
    expect(statusAndBody(refreshed)).toEqual([400, answer])
  },
)

it.each([
  [
    'another key',
    (id: string) =>
      `refresh_token_hmac_key = (SELECT refresh_token_hmac_key FROM auth.sessions WHERE id <> '${id}' LIMIT 1)`,
  ],
  ['no key', () => 'refresh_token_hmac_key = NULL'],
])(
  'a token whose session gets %s from a replica after adopt --prepare continues no session after adopt',
  async (_what, assignmentFor) => {
    const restored = await restore('v2.196.0-encrypted')
    await prepare(restored)
    const { superuserUrl, manifest } = restored.database
    const session = manifest.users.find(({ name }) => name === 'plain')?.sessions.at(-1)
    const id = session?.session_id ?? ''
    await runSql(
      superuserUrl,
      `SET session_replication_role = replica; UPDATE auth.sessions SET ${assignmentFor(id)} WHERE id = '${id}'`,
    )
    await adopt(restored)
    const { post } = await openAdopted(restored)
    const refreshed = await post('/token?grant_type=refresh_token', { refresh_token: session?.refresh_token })
    expect(statusAndBody(refreshed)).toEqual([400, NOT_FOUND])
  },
)

it('a session whose counter a replica has raised after adopt --prepare continues by its later token', async () => {
  const restored = await restore('v2.196.0-encrypted')
  const { superuserUrl, manifest } = restored.database
  const plain = manifest.users.find(({ name }) => name === 'plain')
  const session = plain?.sessions.at(-1)
  const raise = (by: number) =>
    runSql(
      superuserUrl,
      `SET session_replication_role = replica;
       UPDATE auth.sessions SET refresh_token_counter = refresh_token_counter + ${by} WHERE id = '${session?.session_id}'`,
    )
  await raise(-1)
  await prepare(restored)
  await raise(1)
  await adopt(restored)
  const { post } = await openAdopted(restored)
  const refreshed = await post('/token?grant_type=refresh_token', { refresh_token: session?.refresh_token })
  expect(statusAndBody(refreshed)).toEqual([200, plainSession(plain)])
})

it('adopt keeps sessions whose key --prepare could not open, and --prepare names them', async () => {
  const restored = await restore('v2.196.0-encrypted')
  const { AUTH_SECURITY_DATABASE_ENCRYPTION_KEY: _key, ...settings } = settingsFor(restored.database)
  const config = loadAuthConfig({ ...settings, AUTH_DB_PREPARED: 'true' })
  const lines: string[] = []
  const command = adoptCommand(() => createQuietDeps(config), {
    print: (line) => lines.push(line),
    ask: async () => undefined,
  })
  await command.parseAsync(['--prepare'], { from: 'user' })
  expect(lines).toContainEqual(
    expect.stringMatching(/^lost {7}\d+ sessions whose key is encrypted with the key key-1, which no setting has$/),
  )
  await adopt(restored)
  const { post, user } = await openAdopted(restored)
  const session = user('plain')?.sessions.at(-1)
  const refreshed = await post('/token?grant_type=refresh_token', { refresh_token: session?.refresh_token })
  expect(statusAndBody(refreshed)).toEqual([200, plainSession(user('plain'))])
})
