import { expect, it } from 'vitest'
import { errorBody } from '../bodies.ts'
import { adopt, openAdopted, restore } from './adopted-app.ts'
import { runSql } from './restored-database.ts'

it('signs the oldest confirmed user in where several share an email, and lets nobody else sign up with it', async () => {
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
  const app = await openAdopted(restored)
  const signedIn = await app.post('/token?grant_type=password', { email: shared, password: owner?.password })
  expect([signedIn.statusCode, signedIn.json().user.id]).toEqual([200, owner?.id])
  const again = await app.post('/signup', { email: shared, password: 'correct horse battery' })
  expect([again.statusCode, again.json()]).toEqual([
    422,
    errorBody(422, 'user_already_exists', 'User already registered'),
  ])
  const listed = await runSql(
    superuserUrl,
    `SELECT count(*)::int AS users FROM auth.users WHERE lower(email) = '${owner?.email}'`,
  )
  expect(listed).toEqual([{ users: 2 }])
})
