import { hasCome, type WatchedRow, watchRows } from '@trestle/testing/watched-rows.ts'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { deleteUnusedApps } from '../src/apps/app-repository.ts'
import { appsCommand } from '../src/commands/apps.ts'
import { callAcceptInvitation } from '../src/members/invitation-repository.ts'
import { cleanUp } from '../src/use-cases/clean-up.ts'
import { drawnFor } from './drawn-arrows.ts'
import { basic, createTestApp, merchantBody, operatorDeps, placement, startPayments } from './payments-app.ts'
import { commandRunner } from './run-command.ts'

const invitationState = (watched: WatchedRow, done: string): string => {
  if (watched.row.used !== null) return done
  return hasCome(watched.row.expires, watched) ? 'expired' : 'open'
}

const App = z.object({ id: z.string(), key: z.string() })
const [KEYS, CODES, APPS] = ['payments.app_keys', 'payments.app_invitations', 'payments.apps'] as const
const [MEMBERS, TOKENS] = ['payments.merchant_users', 'payments.invitations'] as const

it('keys, codes and hints of apps go through the arrows of their diagrams, and through no others', async () => {
  const payments = await startPayments({ registration: 'invited' })
  const { db } = payments.database
  const { run, readJson } = commandRunner([appsCommand], () => operatorDeps(payments))
  const watched = await watchRows(payments.url, {
    [KEYS]: (key) => {
      if (key.row.revoked !== null) return 'revoked'
      return hasCome(key.row.expires, key) ? 'expired' : 'good'
    },
    [CODES]: (code) => invitationState(code, 'used'),
    [APPS]: ({ row }) => (row.hidden === true ? 'hidden' : 'shown'),
  })
  interface Owner {
    app: z.output<typeof App>
    code: string
  }
  const send = (method: 'POST' | 'DELETE', url: string, headers = {}, payload = {}) =>
    payments.app.inject({ method, url, headers, payload })
  // A command refuses an app that does not exist.
  const operate =
    (word: string) =>
    async ({ app }: Owner) =>
      run('apps', word, app.id).catch(() => [])
  const keyEvents = {
    'an app is made': async (owner: Owner) => {
      owner.app = await readJson(App, 'apps', 'create', '--name', 'Shop')
    },
    'a key is made': ({ app }: Owner) => send('POST', '/me/keys', basic(app.key)),
    'a request calls': ({ app }: Owner) => payments.app.inject({ url: '/me', headers: basic(app.key) }),
    'the time of a key is over': () => watched.change(KEYS, "SET expires = now() - interval '1 second'"),
    'a key is deleted': async ({ app }: Owner) => {
      const first = await db.selectFrom('app_keys').select('id').orderBy('created').executeTakeFirst()
      await send('DELETE', `/me/keys/${first?.id}`, basic(app.key))
    },
    'revoke-keys': operate('revoke-keys'),
    hide: operate('hide'),
    unhide: operate('unhide'),
    'nobody uses the app': () => deleteUnusedApps(db, 0),
  }
  const codeEvents = {
    invite: async (owner: Owner) => {
      owner.code = (await readJson(z.object({ code: z.string() }), 'apps', 'invite')).code
    },
    'an app is made with the code': ({ code }: Owner) => send('POST', '/apps', {}, { code }),
    '14 days have passed': () => watched.change(CODES, "SET expires = expires - interval '14 days'"),
    '30 more days have passed': async () => {
      await watched.change(CODES, "SET expires = expires - interval '30 days'")
      await cleanUp({ db, placement, config: { unusedAppDays: 0 } })
    },
  }
  const begun = ['an app is made']
  const keyWays = [
    [],
    begun,
    [...begun, 'the time of a key is over'],
    [...begun, 'a key is made'],
    [...begun, 'revoke-keys'],
    [...begun, 'hide'],
  ]
  const codeWays = [[], ['invite'], ['invite', '14 days have passed'], ['invite', 'an app is made with the code']]
  const none = { app: { id: '0'.repeat(24), key: 'none' }, code: 'none' }
  const begin = async (): Promise<Owner> => ({ ...none })
  await watched.explore(keyEvents, keyWays, begin)
  const found = await watched.explore(codeEvents, codeWays, begin)
  expect([KEYS, CODES, APPS].map((table) => found.get(table))).toEqual(drawnFor('apps'))
  await watched.close()
  await payments.close()
})

it('members and their invitations go through the arrows of their diagrams, and through no others', async () => {
  const payments = await startPayments({ verifyUser: async (name) => `${name}@example.com` })
  const { db } = payments.database
  const app = await createTestApp(payments)
  const ada = { authorization: 'Bearer ada' }
  const watched = await watchRows(payments.url, {
    [MEMBERS]: ({ row }) => (row.pending === true ? 'pending' : 'member'),
    [TOKENS]: (token) => invitationState(token, 'accepted'),
  })
  const send = (method: 'POST' | 'DELETE', url: string, headers = {}, payload = {}) =>
    payments.app.inject({ method, url, headers: { ...headers }, payload })
  const create = async (headers: object): Promise<string> =>
    (await send('POST', '/merchants', headers, merchantBody)).json().merchant.id
  interface Owner {
    readonly merchantId: string
    readonly headers: object
  }
  const invite = ({ merchantId, headers }: Owner) =>
    send('POST', `/merchants/${merchantId}/users`, headers, { email: 'ada@example.com' })
  const accept = async (order: 'asc' | 'desc') => {
    const row = await db.selectFrom('invitations').select('token_hash').orderBy('created', order).executeTakeFirst()
    if (row) await callAcceptInvitation(payments.deps.pools, row.token_hash)
  }
  const events = {
    'the user makes the merchant': async (owner: Owner) => {
      Object.assign(owner, { merchantId: await create(ada), headers: ada })
    },
    invite,
    'invite after ten minutes': async (owner: Owner) => {
      await watched.change(TOKENS, "SET created = created - interval '10 minutes'")
      await invite(owner)
    },
    'accept the oldest': () => accept('asc'),
    'accept the newest': () => accept('desc'),
    '14 days have passed': () => watched.change(TOKENS, "SET expires = expires - interval '14 days'"),
    revoke: async ({ merchantId, headers }: Owner) => {
      const url = `/merchants/${merchantId}/users`
      const [user] = (await payments.app.inject({ url: `${url}?limit=1`, headers: { ...headers } })).json()
      await send('DELETE', `${url}/${user?.id}`, headers)
    },
    '30 more days have passed': async () => {
      await watched.change(TOKENS, "SET expires = expires - interval '30 days'")
      await cleanUp({ db, placement, config: { unusedAppDays: 0 } })
    },
  }
  const expired = ['invite', '14 days have passed']
  const ways = [
    [],
    ['the user makes the merchant'],
    ['invite'],
    ['invite', 'accept the newest'],
    expired,
    [...expired, 'invite after ten minutes'],
    [...expired, 'invite after ten minutes', 'accept the newest'],
  ]
  const found = await watched.explore(
    events,
    ways,
    async (): Promise<Owner> => ({ merchantId: await create(app.headers), headers: app.headers }),
  )
  expect([MEMBERS, TOKENS].map((table) => found.get(table))).toEqual(drawnFor('members'))
  await watched.close()
  await payments.close()
})
