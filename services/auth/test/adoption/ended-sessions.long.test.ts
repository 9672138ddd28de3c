import { describe, expect, it } from 'vitest'
import { undoAdoption } from '../../src/adoption/use-cases/undo-adoption.ts'
import { loadAuthConfig } from '../../src/config.ts'
import { createEncryptionKeys } from '../../src/secrets/encrypted-secret.ts'
import { cleanUp } from '../../src/use-cases/clean-up.ts'
import { errorBody, statusAndBody } from '../bodies.ts'
import { type AdoptedApp, adopt, openAdopted, type Restored, restore, restoreAdopted } from './adopted-app.ts'
import { runSql, settingsFor } from './restored-database.ts'

const DAY_MS = 86_400_000

/** Runs clean-up two days later. A revoked token expires after one day. */
async function cleanUpLater({ deps }: AdoptedApp): Promise<void> {
  const later = () => new Date(Date.now() + 2 * DAY_MS)
  await cleanUp({ ...deps, now: later, countRows: () => {}, places: new Map() })
}

/** Returns the rows with which the old service would continue a session. */
function readSession({ database }: Restored, id: string | undefined) {
  return runSql(
    database.superuserUrl,
    `SELECT s.refresh_token_counter AS counter,
       ARRAY(SELECT t.token::text FROM auth.refresh_tokens t WHERE t.session_id = s.id AND NOT t.revoked) AS live
     FROM auth.sessions s WHERE s.id = '${id}'`,
  )
}

async function undo(restored: Restored): Promise<number> {
  const costs: number[] = []
  await undoAdoption(restored.deps, async ({ sessions: { ended } }) => costs.push(ended) > 0)
  return costs[0] ?? 0
}

const FORMS = [
  ['v2.196.0', [{ counter: null, live: [] }]],
  ['v2.196.0-encrypted', [{ counter: '4', live: [] }]],
] as const

describe.each(FORMS)('a session of %s that a theft has ended here', (version, ended) => {
  it.each([
    ['after it had refreshed here', 2],
    ['before it had refreshed here', 0],
  ])('stays ended after adopt --undo when clean-up has deleted its tokens, %s', async (_when, refreshes) => {
    const restored = await restoreAdopted(version)
    const app = await openAdopted(restored)
    const { sessions = [], grandparents = [] } = app.user('plain') ?? {}
    const refresh = (refresh_token: string | undefined) =>
      app.post('/token?grant_type=refresh_token', { refresh_token })
    const session = sessions.at(-1)
    let live = session?.refresh_token
    for (let time = 0; time < refreshes; time += 1) live = (await refresh(live)).json().refresh_token
    const spent = errorBody(400, 'refresh_token_already_used', 'Invalid Refresh Token: Already Used')
    expect(statusAndBody(await refresh(grandparents[0]))).toEqual([400, spent])
    expect(statusAndBody(await refresh(live))).toEqual([400, spent])
    await cleanUpLater(app)
    const own = `SELECT id FROM auth.refresh_tokens WHERE session_id = '${session?.session_id}'`
    expect(await runSql(restored.database.superuserUrl, own)).toEqual([])
    expect(await undo(restored)).toBe(1)
    expect(await readSession(restored, session?.session_id)).toEqual(ended)
  })
})

it('sessions whose key no setting had go on after adopt --undo', async () => {
  const whole = await restore('v2.196.0-encrypted')
  const { AUTH_SECURITY_DATABASE_ENCRYPTION_KEY: _key, ...settings } = settingsFor(whole.database)
  const config = loadAuthConfig({ ...settings, AUTH_DB_PREPARED: 'true' })
  const restored = { ...whole, deps: { ...whole.deps, config } }
  const id = whole.database.manifest.users.find(({ name }) => name === 'plain')?.sessions.at(-1)?.session_id
  const before = await readSession(restored, id)
  await adopt({
    ...restored,
    deps: { ...restored.deps, encryptionKeys: createEncryptionKeys(Buffer.alloc(32, 1), []) },
  })
  expect(await undo(restored)).toBe(0)
  expect(await readSession(restored, id)).toEqual(before)
})
