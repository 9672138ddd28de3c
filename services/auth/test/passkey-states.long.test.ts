import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createAuthenticator } from '@trestle/testing/software-authenticator.ts'
import { watchRows } from '@trestle/testing/watched-rows.ts'
import { expect, it } from 'vitest'
import { diagramsOf } from '../../../scripts/layout/state-diagrams.ts'
import { authNames } from '../src/migrations.ts'
import { cleanUp } from '../src/use-cases/clean-up.ts'
import { OPERATOR } from './forged-token.ts'
import { openPasskeyApp, paths } from './passkey-app.ts'
import { createSignedIn } from './signed-in.ts'

const drawn = diagramsOf(readFileSync(new URL('../src/passkeys/README.md', import.meta.url), 'utf8'))
const arrowsOf = (diagram: number): readonly string[] =>
  [...(drawn[diagram]?.arrows.keys() ?? [])].filter((arrow) => new Set(arrow.split(' --> ')).size === 2).sort()

it('challenges and passkeys go through the arrows of their diagrams, and through no others', async () => {
  const test = await openPasskeyApp()
  const { prefix } = authNames(test.deps.config)
  const [challenges, passkeys] = [`auth.${prefix}webauthn_challenges`, `auth.${prefix}webauthn_credentials`]
  const now = test.clock.now()
  const watched = await watchRows(test.database.directUrl, {
    [challenges]: ({ row: { expires_at } }) => (Date.parse(String(expires_at)) <= now.getTime() ? 'expired' : 'open'),
    [passkeys]: () => 'registered',
  })
  const begin = async () => ({
    ...(await createSignedIn(test)),
    key: createAuthenticator(),
    asked: { challenge_id: randomUUID() as string, options: { challenge: 'none', rp: { id: 'app.example.com' } } },
    passkeyId: randomUUID() as string,
  })
  type Owner = Awaited<ReturnType<typeof begin>>
  const answer = async (owner: Owner, wrong = {}) => {
    const { challenge_id, options } = owner.asked
    const credential = createAuthenticator().create(options, wrong)
    return test.post(paths.finish, { challenge_id, credential }, owner.headers)
  }
  const change = (owner: Owner, method: 'PATCH' | 'DELETE', payload: object) =>
    test.app.inject({ method, url: `/passkeys/${owner.passkeyId}`, headers: owner.headers, payload })
  const events = {
    'options are asked for': async (owner: Owner) => {
      Object.assign(owner, { asked: await test.start(owner.headers) })
    },
    'right answer': answer,
    'wrong answer': (owner: Owner) => answer(owner, { origin: 'https://elsewhere.example.com' }),
    'answer to a sign-in': async ({ asked: { challenge_id }, key }: Owner) => {
      const { options } = await test.ask()
      if (key.credentials.length === 0) return
      await test.post(paths.signInFinish, { challenge_id, credential: key.get(options) })
    },
    registered: async (owner: Owner) => {
      // An authenticator creates only one passkey per account.
      const key = owner.key.credentials.length === 0 ? owner.key : createAuthenticator()
      const { id = owner.passkeyId } = (await test.register(owner.headers, key)).json()
      Object.assign(owner, { passkeyId: id })
    },
    'sign-in': async ({ key }: Owner) => {
      if (key.credentials.length > 0) await test.signInBy(key)
    },
    renamed: (owner: Owner) => change(owner, 'PATCH', { friendly_name: 'Other' }),
    'deleted by its user': (owner: Owner) => change(owner, 'DELETE', {}),
    'deleted by an admin': ({ user, passkeyId }: Owner) =>
      test.app.inject({ method: 'DELETE', url: `/admin/users/${user.id}/passkeys/${passkeyId}`, headers: OPERATOR }),
    'its time is over': () => watched.change(challenges, `SET expires_at = '${now.toISOString()}'`),
    'a day passes': () => watched.change(challenges, `SET expires_at = expires_at - interval '1 day 1 hour'`),
    'clean-up': () => cleanUp({ ...test.deps, countRows: () => {}, places: new Map() }),
    'its user is deleted': ({ user }: Owner) =>
      test.app.inject({ method: 'DELETE', url: `/admin/users/${user.id}`, headers: OPERATOR }),
  }
  const ways = [
    [],
    ['options are asked for'],
    ['options are asked for', 'its time is over'],
    ['options are asked for', 'a day passes'],
    ['registered'],
  ]
  const found = await watched.explore(events, ways, begin)
  expect([found.get(challenges), found.get(passkeys)]).toEqual([arrowsOf(0), arrowsOf(1)])
  await watched.close()
  await test.close()
})
