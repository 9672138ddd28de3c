import { createHash, randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { errorBody, statusAndBody } from '../bodies.ts'
import { type ExternalApp, type Landing, land, openExternalApp } from '../external/external-app.ts'
import { OAUTH_STUBS } from '../external/oauth-stubs.ts'
import { OPENID_STUBS } from '../external/openid-stubs.ts'
import { CODE, type ProviderStub, play } from '../external/provider-stub.ts'
import { adopt, type Restored, restore } from './adopted-app.ts'
import { readManifest, runSql, settingsFor, VERSIONS, type Version } from './restored-database.ts'

/** The realm at which users of the old servers signed in. */
const REALM = 'http://127.0.0.1:9781/realms/fixture'
const SPOTIFY: ProviderStub = {
  name: 'spotify',
  authorize: { url: 'https://accounts.spotify.com/authorize', parameters: { scope: 'user-read-email' } },
  token: { url: 'https://accounts.spotify.com/api/token', auth: 'basic', answer: { token_type: 'Bearer' } },
  resources: {
    'https://api.spotify.com/v1/me': { body: { id: 'ada', email: 'ada@spotify.example', display_name: 'Ada' } },
  },
  data: { iss: 'https://api.spotify.com/v1', sub: 'ada', name: 'Ada', email: 'ada@spotify.example' },
  email: 'ada@spotify.example',
}
const STUBS = [...OPENID_STUBS.filter(({ name }) => name !== 'keycloak'), ...OAUTH_STUBS, SPOTIFY, keycloak('ada')]
/** The account at Twitter, which uses OAuth 1.0a. */
const TWITTER = { id_str: '783214', email: 'ada@twitter.example', name: 'Ada', screen_name: 'ada' }
const TWITTER_DATA = { iss: 'https://api.twitter.com', sub: TWITTER.id_str, name: 'Ada', email: TWITTER.email }
/** The provider that an admin of the old server added. */
const CUSTOM = 'custom:fixture'

/** The Keycloak account of a user. */
function keycloak(sub: string): ProviderStub {
  const endpoints = `${REALM}/protocol/openid-connect`
  const email = `${sub}@keycloak.example`
  const profile = { sub, name: 'Ada', email, email_verified: true }
  return {
    name: 'keycloak',
    authorize: { url: `${endpoints}/auth`, parameters: { scope: 'profile email' } },
    token: { url: `${endpoints}/token`, auth: 'basic', answer: { token_type: 'Bearer' } },
    resources: { [`${endpoints}/userinfo`]: { body: profile } },
    pkce: true,
    data: { iss: REALM, full_name: 'Ada', ...profile },
    email,
  }
}

/** The account id that supabase/auth 2.196 writes when it softly deletes a user. */
function obfuscated(userId: string, provider: string, sub: string): string {
  return createHash('sha256').update(`${userId}${provider}:${sub}`).digest('base64url')
}

interface OldIdentity {
  readonly provider: string
  readonly sub: string
  readonly data: Readonly<Record<string, unknown>>
}

/** Inserts a user with an email that no provider knows. Only the identity leads to the user. */
async function insertUser(restored: Restored): Promise<string> {
  const id = randomUUID()
  await runSql(
    restored.database.superuserUrl,
    `INSERT INTO auth.users (instance_id, id, aud, role, email, encrypted_password, email_confirmed_at, confirmation_token,
       recovery_token, email_change, email_change_token_new, email_change_token_current, phone_change, phone_change_token,
       reauthentication_token, raw_app_meta_data, raw_user_meta_data, created_at, updated_at)
     VALUES (${zero}, '${id}', 'authenticated', 'authenticated', 'own-${id}@example.com', '', now(), '', '', '', '', '', '', '', '',
       '{}', '{}', now(), now())`,
  )
  return id
}

const zero = `'00000000-0000-0000-0000-000000000000'`

/** Inserts an identity like the old server. Before 2.114, the account id is in the column \`id\`. */
async function insertIdentity({ database }: Restored, userId: string, { provider, sub, data }: OldIdentity) {
  const { superuserUrl, manifest } = database
  const column = manifest.migration < '20231117164230' ? 'id' : 'provider_id'
  const values = [sub, userId, JSON.stringify(data), provider].map(pg.escapeLiteral).join(', ')
  await runSql(
    superuserUrl,
    `INSERT INTO auth.identities (${column}, user_id, identity_data, provider, last_sign_in_at, created_at, updated_at)
     VALUES (${values}, now(), now(), now())`,
  )
}

const identityOf = ({ name, data }: ProviderStub): OldIdentity => ({
  provider: name,
  sub: String(data.sub),
  data: { provider_id: data.sub, ...data },
})

let restored: Restored
let service: ExternalApp
let dropDatabase: () => Promise<void>
/** The user of each provider. */
let owners: Map<string, string>
/** Users whose accounts nobody may enter through Keycloak. */
let strangers: readonly string[]

async function open(version: Version): Promise<void> {
  restored = await restore(version, (drop) => {
    dropDatabase = drop
  })
  owners = new Map()
  for (const stub of STUBS) {
    const id = await insertUser(restored)
    await insertIdentity(restored, id, identityOf(stub))
    owners.set(stub.name, id)
  }
  for (const identity of [
    { provider: 'twitter', sub: TWITTER.id_str, data: TWITTER_DATA },
    { provider: CUSTOM, sub: 'person-1', data: { sub: 'person-1' } },
  ]) {
    const id = await insertUser(restored)
    await insertIdentity(restored, id, identity)
    owners.set(identity.provider, id)
  }
  // An SSO user with the address of an account, and another provider's account with the same id.
  const [sso, other] = [await insertUser(restored), await insertUser(restored)]
  await runSql(
    restored.database.superuserUrl,
    `UPDATE auth.users SET is_sso_user = true, email = 'of-sso@keycloak.example' WHERE id = '${sso}'`,
  )
  await insertIdentity(restored, other, { provider: 'github', sub: 'same', data: { sub: 'same' } })
  strangers = [sso, other]
  const [banned, gone] = ['banned', 'gone'].map(idOf)
  await insertIdentity(restored, banned ?? '', identityOf(keycloak('banned')))
  const kept = obfuscated(gone ?? '', 'keycloak', 'gone')
  await insertIdentity(restored, gone ?? '', { provider: 'keycloak', sub: kept, data: {} })
  await adopt(restored)
  const { database, deps } = restored
  service = await openExternalApp(
    { ...settingsFor(database), AUTH_DB_ROLE: '', AUTH_EXTERNAL_KEYCLOAK_URL: REALM },
    {
      database: { ...database, entryUrl: database.url, directUrl: database.url },
      replace: () => ({ now: deps.now }),
    },
  )
}

const idOf = (name: string) => restored.database.manifest.users.find((user) => user.name === name)?.id

/** Signs in at a provider like a browser. @returns the id of the user, or the error in the redirect */
async function signIn(stub: ProviderStub): Promise<string> {
  service.answer(play(stub, restored.deps))
  const { state } = await service.begin(stub.name)
  if (!stub.form) return outcomeOf(await service.comeBack({ state, code: CODE }))
  const payload = new URLSearchParams({ state, ...stub.form }).toString()
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  return outcomeOf(land(await service.app.inject({ method: 'POST', url: '/callback', payload, headers })))
}

async function signInAtTwitter(): Promise<string> {
  const token = { oauth_token: 'token', oauth_token_secret: 'secret', oauth_callback_confirmed: 'true' }
  service.answer((call) => ({ body: call.startsWith('POST') ? new URLSearchParams(token).toString() : TWITTER }))
  await service.begin('twitter')
  // The browser's URL contains no state. The token request contains it.
  const { authorization } = service.world.requests.at(-1)?.headers ?? {}
  const [, state = ''] = /state%3D([0-9a-f-]{36})/.exec(String(authorization)) ?? []
  return outcomeOf(await service.comeBack({ state, oauth_token: 'token', oauth_verifier: 'verifier' }))
}

function outcomeOf({ fragment, query }: Landing): string {
  const [, claims] = fragment.access_token?.split('.') ?? []
  if (claims === undefined) return `${query.error} ${query.error_code}`
  return JSON.parse(Buffer.from(claims, 'base64url').toString()).sub
}

describe.each(VERSIONS)('an adopted database of %s', (version) => {
  beforeAll(async () => {
    await open(version)
  })
  afterAll(async () => {
    await service.close()
    await dropDatabase()
  })

  it('signs the user of each of the eighteen providers in, by the identity that the user had', async () => {
    const outcomes: (readonly [string, string])[] = []
    for (const stub of STUBS) outcomes.push([stub.name, await signIn(stub)])
    outcomes.push(['twitter', await signInAtTwitter()])
    expect(outcomes).toEqual([...owners].filter(([name]) => name !== CUSTOM))
    expect(outcomes).toHaveLength(18)
  })

  it('signs the users in whom the old server has signed in at Keycloak', async () => {
    const accounts = readManifest(version).users.flatMap(({ external }) => (external ? [external.sub] : []))
    for (const sub of accounts) {
      const [owner] = await runSql(
        restored.database.superuserUrl,
        `SELECT user_id FROM auth.identities WHERE provider = 'keycloak' AND provider_id = '${sub}'`,
      )
      expect([sub, await signIn(keycloak(sub))]).toEqual([sub, owner?.user_id])
    }
    expect(accounts).not.toEqual([])
  })

  it('signs nobody in as an SSO user of the same address, or as the owner of the same id at another provider', async () => {
    const found = [await signIn(keycloak('of-sso')), await signIn(keycloak('same'))]
    expect(found).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/), expect.stringMatching(/^[0-9a-f-]{36}$/)])
    expect(found.filter((id) => strangers.includes(id))).toEqual([])
  })

  it('signs no banned and no soft-deleted user in', async () => {
    expect(await signIn(keycloak('banned'))).toBe('access_denied user_banned')
    // The old server softly deleted this user. The account belongs to nobody, so the sign-in creates a new user.
    const stranger = await signIn(keycloak('gone'))
    expect([stranger, stranger === idOf('gone')]).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/), false])
  })

  if (!/2\.196/.test(version)) {
    it('400: begins no sign-in at a provider that no admin has added', async () => {
      expect(statusAndBody(await service.app.inject(`/authorize?provider=${CUSTOM}`))).toEqual([
        400,
        errorBody(400, 'validation_failed', 'Unsupported provider: provider is not enabled'),
      ])
    })
    return
  }

  it('signs users in at a provider that an admin had added, with the secret that the old server had', async () => {
    const secrets: unknown[] = []
    service.answer((call, { headers }) => {
      if (call !== 'POST https://203.0.113.9/token') return { body: { sub: 'person-1', email: 'p@custom.example' } }
      secrets.push(headers.authorization)
      return { body: { access_token: 'x', token_type: 'bearer' } }
    })
    const { state } = await service.begin(CUSTOM)
    expect(outcomeOf(await service.comeBack({ state, code: CODE }))).toBe(owners.get(CUSTOM))
    expect(secrets).toEqual([`Basic ${Buffer.from('fixture:fixture+secret').toString('base64')}`])
  })
})
