import { expect, it } from 'vitest'
import { errorBody, statusAndBody } from '../bodies.ts'
import { adopt, openAdopted, restore } from './adopted-app.ts'
import { plainSignIn } from './plain-user.ts'
import { runSql } from './restored-database.ts'

/** Adopts a database in which `plain` and an older, unconfirmed user share an email. */
async function openShared() {
  const restored = await restore('v2.196.0')
  const { manifest, superuserUrl } = restored.database
  const owner = manifest.users.find(({ name }) => name === 'plain')
  const shared = owner?.email?.toUpperCase()
  await runSql(
    superuserUrl,
    `INSERT INTO auth.users (instance_id, id, aud, role, email, encrypted_password, created_at)
     SELECT instance_id, gen_random_uuid(), aud, role, upper(email), encrypted_password, '2020-01-01' FROM auth.users
     WHERE id = '${owner?.id}'`,
  )
  await adopt(restored)
  return { ...(await openAdopted(restored)), owner, shared, superuserUrl }
}

it('signs the oldest confirmed user in where several share an email', async () => {
  const { post, owner, shared } = await openShared()
  const signedIn = await post('/token?grant_type=password', { email: shared, password: owner?.password })
  expect(statusAndBody(signedIn)).toEqual([200, plainSignIn(owner)])
})

it('lets nobody else sign up with an email that several share', async () => {
  const { post, owner, shared, superuserUrl } = await openShared()
  const again = await post('/signup', { email: shared, password: 'correct horse battery' })
  expect(statusAndBody(again)).toEqual([422, errorBody(422, 'user_already_exists', 'User already registered')])
  const listed = await runSql(
    superuserUrl,
    `SELECT count(*)::int AS users FROM auth.users WHERE lower(email) = '${owner?.email}'`,
  )
  expect(listed).toEqual([{ users: 2 }])
})
