import { expect, it } from 'vitest'
import { prepare, type Restored, restore } from '../../../test/adoption/adopted-app.ts'
import { runSql } from '../../../test/adoption/restored-database.ts'

/** A session that was refreshed a hundred times. */
const LONG = `
  INSERT INTO auth.sessions (id, user_id, created_at, updated_at)
    SELECT '00000000-0000-4000-8000-00000000000a', id, now(), now() FROM auth.users ORDER BY id LIMIT 1;
  INSERT INTO auth.refresh_tokens (session_id, user_id, token, parent, revoked, created_at, updated_at)
    SELECT s.id, s.user_id, 'long-' || n, 'long-' || n - 1, n < 100, now(), now()
    FROM auth.sessions s CROSS JOIN generate_series(1, 100) n WHERE s.id = '00000000-0000-4000-8000-00000000000a'`
const REFRESH = `
  UPDATE auth.refresh_tokens SET revoked = true, updated_at = now() WHERE token = 'long-100';
  INSERT INTO auth.refresh_tokens (session_id, user_id, token, parent, revoked, created_at, updated_at)
    SELECT session_id, user_id, 'long-101', 'long-100', false, now(), now() FROM auth.refresh_tokens WHERE token = 'long-100'`

/** Changes at the old service between two runs of `--prepare`. Only the refresh is common. */
const CHANGES = {
  'a refresh': REFRESH,
  'two refreshes': `${REFRESH}; ${REFRESH.replaceAll('101', '102').replaceAll('100', '101')}`,
  'the end of all tokens': "UPDATE auth.refresh_tokens SET revoked = true WHERE token LIKE 'long-%'",
  'a deleted token': "DELETE FROM auth.refresh_tokens WHERE token = 'long-50'",
  'a spent token that lives again': "UPDATE auth.refresh_tokens SET revoked = false WHERE token = 'long-50'",
  'a live token of another value': "UPDATE auth.refresh_tokens SET token = 'other' WHERE token = 'long-100'",
  'a token that moves to another session': `
    UPDATE auth.refresh_tokens SET session_id = (SELECT id FROM auth.sessions ORDER BY id DESC LIMIT 1) WHERE token = 'long-50'`,
  'a token that comes with a lower number': `
    DELETE FROM auth.refresh_tokens WHERE token = 'long-50';
    INSERT INTO auth.refresh_tokens (id, session_id, user_id, token, revoked, created_at, updated_at)
      SELECT id + 50 - 100, session_id, user_id, 'late', false, now(), now() FROM auth.refresh_tokens WHERE token = 'long-100'`,
  'another user': `
    UPDATE auth.sessions SET user_id = (SELECT id FROM auth.users ORDER BY id DESC LIMIT 1)
    WHERE id = '00000000-0000-4000-8000-00000000000a'`,
  'a deleted session': "DELETE FROM auth.sessions WHERE id = '00000000-0000-4000-8000-00000000000a'",
} as const

/** Returns all copies, without the numbers of tokens that are derived from session keys. */
const listCopies = ({ database }: Restored) =>
  runSql(
    database.superuserUrl,
    `SELECT session_id, user_id, encode(token_hash, 'hex') AS hash, counter, revoked, created_at, updated_at,
       CASE WHEN id < first_derived THEN id END AS id, CASE WHEN parent_id < first_derived THEN parent_id END AS parent
     FROM auth_adopting.refresh_tokens, auth_adopting.progress ORDER BY session_id, counter`,
  )

it.each(Object.entries(CHANGES))(
  'after %s a second --prepare has the copies that copying everything makes',
  async (_name, change) => {
    const restored = await restore('v2.196.0')
    await runSql(restored.database.superuserUrl, LONG)
    await prepare(restored)
    await runSql(restored.database.superuserUrl, change)
    await prepare(restored)
    const updated = await listCopies(restored)
    await runSql(
      restored.database.superuserUrl,
      'TRUNCATE auth_adopting.refresh_tokens, auth_adopting.keyed_sessions; UPDATE auth_adopting.progress SET after = NULL',
    )
    await prepare(restored)
    expect(updated).toEqual(await listCopies(restored))
  },
)

it('a second --prepare writes no copy of a token anew that a refresh has left as it was', async () => {
  const restored = await restore('v2.196.0')
  const { superuserUrl } = restored.database
  await runSql(superuserUrl, LONG)
  await prepare(restored)
  const listUnchanged = () =>
    runSql(
      superuserUrl,
      `SELECT id, xmin::text FROM auth_adopting.refresh_tokens
       WHERE token_hash IN (SELECT sha256(convert_to('long-' || n, 'UTF8')) FROM generate_series(1, 99) n) ORDER BY id`,
    )
  const before = await listUnchanged()
  await runSql(superuserUrl, REFRESH)
  await prepare(restored)
  expect(before).toHaveLength(99)
  expect(await listUnchanged()).toEqual(before)
})
