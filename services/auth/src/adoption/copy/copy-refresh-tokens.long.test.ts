import { expect, it } from 'vitest'
import { type AdoptedApp, adopt, openAdopted, type Restored, restore } from '../../../test/adoption/adopted-app.ts'
import { openBeside } from '../../../test/adoption/imported-app.ts'
import { runSql, type Version } from '../../../test/adoption/restored-database.ts'
import { checkAdoption } from '../use-cases/check-adoption.ts'
import { undoAdoption } from '../use-cases/undo-adoption.ts'

/** Returns a refresh token in the form of supabase/auth, which has 22 characters. */
const tokenOf = (name: string) => name.padEnd(22, '-')

/** Adds refresh tokens without a session, as early versions made them: a chain of three, and a single one. */
async function addTokensWithoutSession({ database }: Restored): Promise<void> {
  const id = database.manifest.users.find(({ name }) => name === 'plain')?.id
  await runSql(
    database.superuserUrl,
    `INSERT INTO auth.refresh_tokens (instance_id, token, user_id, revoked, parent, created_at, updated_at)
       SELECT '00000000-0000-0000-0000-000000000000', rpad(token, 22, '-'), '${id}', revoked, rpad(parent, 22, '-'), moment, moment
       FROM (VALUES ('grandparent', true, NULL), ('parent', true, 'grandparent'), ('child', false, 'parent'), ('single', false, NULL))
         AS t (token, revoked, parent), (SELECT timestamptz '2022-01-02T03:04:05Z' AS moment) m`,
  )
}

const TABLES = ['refresh_tokens', 'sessions'] as const

/** Returns all rows of both tables, in the order of their keys. */
const readRows = ({ database }: Restored) =>
  Promise.all(
    TABLES.map((table) => runSql(database.superuserUrl, `SELECT to_jsonb(t) AS row FROM auth.${table} t ORDER BY id`)),
  )

const refresh = (app: AdoptedApp, token: string) =>
  app.post('/token?grant_type=refresh_token', { refresh_token: tokenOf(token) })

async function statusOf(app: AdoptedApp, token: string): Promise<string> {
  const answer = await refresh(app, token)
  return `${answer.statusCode} ${answer.json().error_code ?? answer.json().user.id}`
}

it('a refresh token from before sessions, its direct parent too, refreshes after adopt as at the old service', async () => {
  const restored = await restore('v2.43.1')
  await addTokensWithoutSession(restored)
  await adopt(restored)
  const app = await openAdopted(restored)
  const id = app.user('plain')?.id
  const tokens = ['single', 'parent', 'child', 'grandparent']
  const statuses: string[] = []
  for (const token of tokens) statuses.push(await statusOf(app, token))
  expect(statuses).toEqual([`200 ${id}`, `200 ${id}`, `200 ${id}`, '400 refresh_token_not_found'])
  expect(
    await runSql(
      restored.database.superuserUrl,
      `SELECT s.aal, s.user_id, s.created_at FROM auth.sessions s JOIN auth_before_trestle.begun_sessions USING (id)`,
    ),
  ).toEqual(Array(2).fill({ aal: 'aal1', user_id: id, created_at: new Date('2022-01-02T03:04:05Z') }))
})

it('adopt --undo takes back the sessions that it has begun, and the tokens that have refreshed here', async () => {
  const restored = await restore('v2.43.1')
  await addTokensWithoutSession(restored)
  const before = await readRows(restored)
  await adopt(restored)
  expect(await undoAdoption(restored.deps, async () => true)).toBe(true)
  expect(await readRows(restored)).toEqual(before)
  await adopt(restored)
  const app = await openAdopted(restored)
  expect((await refresh(app, 'child')).statusCode).toBe(200)
  await app.close()
  const ended: number[] = []
  await undoAdoption(restored.deps, async ({ sessions }) => ended.push(sessions.ended) > 0)
  expect(ended).toEqual([1])
  const live = `SELECT token FROM auth.refresh_tokens WHERE session_id IS NULL AND NOT revoked`
  expect(await runSql(restored.database.superuserUrl, live)).toEqual([{ token: tokenOf('single') }])
})

it.each<[Version, readonly unknown[]]>([
  ['v2.43.1', [0, 2, 40_002, 6, 8]],
  ['v2.151.0', [0, 0, 0, 6, 6]],
])(
  'adopt --check of %s counts refresh tokens from before sessions, and their part of the pause',
  async (version, counts) => {
    const restored = await restore(version)
    const check = () => checkAdoption(restored.deps, { force: false })
    const none = await check()
    await addTokensWithoutSession(restored)
    const few = await check()
    await runSql(
      restored.database.superuserUrl,
      `INSERT INTO auth.refresh_tokens (token, user_id, revoked)
       SELECT 'lone' || n, (SELECT id FROM auth.users WHERE email LIKE 'plain.%'), false FROM generate_series(1, 40000) n`,
    )
    const many = await check()
    const seconds = [few.seconds.pause, many.seconds.pause]
    expect([none.tokensWithoutSession, few.tokensWithoutSession, many.tokensWithoutSession, ...seconds]).toEqual(counts)
  },
)

it('a refresh token without a session does not refresh after adopt of a version that refuses it', async () => {
  const restored = await restore('v2.151.0')
  await addTokensWithoutSession(restored)
  await adopt(restored)
  const app = await openAdopted(restored)
  expect(await statusOf(app, 'child')).toBe('400 refresh_token_not_found')
})

it.each<[Version, number]>([
  ['v2.43.1', 2],
  ['v2.151.0', 0],
])(
  'an import of %s counts refresh tokens from before sessions that its server refreshes: %i',
  async (version, count) => {
    const restored = await restore(version)
    await addTokensWithoutSession(restored)
    const what = 'refresh tokens from before sessions: their users sign in again'
    const { losses } = await (await openBeside(restored)).run()
    expect(losses.filter((loss) => loss.what === what)).toEqual(count === 0 ? [] : [{ what, count }])
  },
)
