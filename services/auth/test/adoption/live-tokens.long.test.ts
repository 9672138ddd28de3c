import { describe, expect, it } from 'vitest'
import { type AdoptedApp, adopt, openAdopted, type Restored, restore } from './adopted-app.ts'
import { openBeside } from './imported-app.ts'
import { runSql, type Version } from './restored-database.ts'

const VERSIONS = ['v2.151.0', 'v2.196.0', 'v2.196.0-encrypted'] as const
const WAYS: Readonly<Record<string, (restored: Restored) => Promise<AdoptedApp>>> = {
  'auth adopt': async (restored) => {
    await adopt(restored)
    return openAdopted(restored)
  },
  'auth import': async (restored) => {
    const app = await openBeside(restored)
    await app.run()
    return app
  },
}

/**
 * Adds a second live stored token to a session, as supabase/auth does if a tab reuses a token within the reuse interval.
 * @returns the tokens of both tabs
 */
async function addTab({ database }: Restored): Promise<readonly string[]> {
  const session = database.manifest.users.find(({ name }) => name === 'plain')?.sessions.at(-1)
  await runSql(
    database.superuserUrl,
    `INSERT INTO auth.refresh_tokens (instance_id, token, user_id, revoked, parent, session_id, created_at, updated_at)
     SELECT NULL, 'oftheothertab', s.user_id, false, NULL, s.id, s.created_at, s.created_at FROM auth.sessions s
     WHERE s.id = '${session?.session_id}'`,
  )
  return [session?.refresh_token ?? '', 'oftheothertab']
}

describe.each(Object.keys(WAYS))('after %s', (way) => {
  it.each<Version>(VERSIONS)('both live tokens of a session of %s go on refreshing, in turn', async (version) => {
    const restored = await restore(version)
    let tabs = await addTab(restored)
    const app = await WAYS[way]?.(restored)
    const refresh = async (token: string) => {
      const answer = await app?.post('/token?grant_type=refresh_token', { refresh_token: token })
      return { status: answer?.statusCode, token: String(answer?.json().refresh_token) }
    }
    for (let turn = 0; turn < 3; turn += 1) {
      const [one, other] = [await refresh(tabs[0] ?? ''), await refresh(tabs[1] ?? '')]
      expect([one.status, other.status]).toEqual([200, 200])
      tabs = [one.token, other.token]
    }
    expect(new Set(tabs).size).toBe(2)
  })
})
