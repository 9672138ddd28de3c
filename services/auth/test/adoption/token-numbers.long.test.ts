import { expect, it } from 'vitest'
import { checkAdoption } from '../../src/use-cases/check-adoption.ts'
import { adopt, openAdopted, prepare, type Restored, restore } from './adopted-app.ts'
import { runSql } from './restored-database.ts'

const TOKENS = ['oftheothertab', 'ofthethirdtab', 'ofthefourthtab', 'ofthefifthtab'] as const

/** Adds live tokens to a session, with the next numbers of the sequence, as supabase/auth does. */
async function addTokens({ database }: Restored): Promise<void> {
  const session = database.manifest.users.find(({ name }) => name === 'plain')?.sessions.at(-1)
  await runSql(
    database.superuserUrl,
    `INSERT INTO auth.refresh_tokens (token, user_id, revoked, session_id, created_at, updated_at)
     SELECT token, s.user_id, false, s.id, s.created_at, s.created_at
     FROM auth.sessions s CROSS JOIN unnest('{${TOKENS.join(',')}}'::text[]) token WHERE s.id = '${session?.session_id}'`,
  )
}

/** Lets the sequence of the old service jump. */
const jump = ({ database: { superuserUrl } }: Restored) =>
  runSql(
    superuserUrl,
    "SELECT setval('auth.refresh_tokens_id_seq', coalesce(max(id), 0) + 1000000000) FROM auth.refresh_tokens",
  )

it.each([
  ['before an adoption is prepared', 'v2.196.0-encrypted', [jump, prepare, addTokens]],
  ['while an adoption is prepared', 'v2.151.0', [prepare, jump, jump, addTokens]],
] as const)('each token refreshes where the numbers of tokens have jumped %s', async (_when, version, steps) => {
  const restored = await restore(version)
  for (const step of steps) await step(restored)
  await adopt(restored)
  const app = await openAdopted(restored)
  const answers: unknown[] = []
  for (const token of TOKENS) {
    const answer = await app.post('/token?grant_type=refresh_token', { refresh_token: token })
    answers.push([token, answer.statusCode])
  }
  expect(answers).toEqual(TOKENS.map((token) => [token, 200]))
})

it('numbers of tokens near the greatest bigint are named, and stop an adoption before it begins', async () => {
  const restored = await restore('v2.196.0')
  const url = restored.database.superuserUrl
  await runSql(
    url,
    `UPDATE auth.refresh_tokens SET id = 9223372036854775000 WHERE id = (SELECT max(id) FROM auth.refresh_tokens);
     SELECT setval('auth.refresh_tokens_id_seq', 9223372036854775807)`,
  )
  const named = [
    'the row 9223372036854775000 of auth.refresh_tokens leaves too few numbers for new tokens: delete it, or give it a lower id',
    "the sequence of auth.refresh_tokens stands at 9223372036854775807, which leaves too few numbers for new tokens: run SELECT setval(pg_get_serial_sequence('auth.refresh_tokens', 'id'), max(id)) FROM auth.refresh_tokens",
  ]
  expect((await checkAdoption(restored.deps, { force: false })).obstacles).toEqual(named)
  await expect(prepare(restored)).rejects.toThrow(new Error(named.join('\n')))
  await runSql(
    url,
    `DELETE FROM auth.refresh_tokens WHERE id = 9223372036854775000;
     SELECT setval(pg_get_serial_sequence('auth.refresh_tokens', 'id'), max(id)) FROM auth.refresh_tokens`,
  )
  expect((await checkAdoption(restored.deps, { force: false })).obstacles).toEqual([])
})
