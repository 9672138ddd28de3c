import { createLogger } from '@trestle/common/telemetry/logger.ts'
import { createAuthenticator, type Misbehaviour, map } from '@trestle/testing/software-authenticator.ts'
import { describe, expect, it } from 'vitest'
import { askForAssertion, askForCreation, namesUser, verifyAssertion, verifyCreation } from './ceremony.ts'

const relyingParty = {
  id: 'app.example.com',
  displayName: 'The App',
  origins: ['https://app.example.com', 'http://localhost:3000'],
}
const { logger } = createLogger({ level: 'panic', stdout: false })
const deps = { config: { webauthn: { relyingParty } }, logger }
const userId = '00000000-0000-4000-8000-000000000001'
const creation = { userId, account: 'ada@example.com', known: [], residentKey: 'required', timeoutMs: 60_000 } as const

/** Requests a credential from an authenticator, and verifies the response. */
async function create({ key = createAuthenticator(), wrong = {} as Misbehaviour } = {}) {
  const { options, challenge } = await askForCreation(deps, creation)
  const answer = key.create({ ...options, challenge, user: { id: toHandle(userId) } }, wrong)
  return { key, answer, credential: await verifyCreation(deps, answer, challenge) }
}

const toHandle = (id: string) => Buffer.from(id.replaceAll('-', ''), 'hex').toString('base64url')

/** The expected stored form of a new discoverable credential. */
const storedOf = ({ id }: { readonly id: string }) => ({
  id,
  publicKey: expect.stringMatching(/^[\w-]+$/),
  counter: 0,
  transports: ['internal'],
  backupEligible: false,
})

async function createKey() {
  const { key, credential } = await create()
  return { key, credential: credential ?? expect.fail('the credential was refused') }
}

describe('a new credential', () => {
  it.each(relyingParty.origins)('is accepted from %s, as it will be stored', async (origin) => {
    const { answer, credential } = await create({ key: createAuthenticator(origin) })
    expect(credential).toEqual(storedOf(answer))
  })

  it('is known as one that its authenticator may copy to other devices', async () => {
    const { credential } = await create({ wrong: { backupEligible: true } })
    expect(credential?.backupEligible).toBe(true)
  })

  it('is accepted whatever its attestation says, since nothing depends on it', async () => {
    const { answer, credential } = await create({ wrong: { attestation: { fmt: 'packed', statement: map([]) } } })
    expect(credential).toEqual(storedOf(answer))
  })

  it.each<[string, Misbehaviour]>([
    ['another origin', { origin: 'https://app.example.com.evil.test' }],
    ['another relying party', { rpId: 'evil.test' }],
    ['another challenge', { challenge: 'AAAA' }],
    ['nobody at the authenticator', { userPresent: false }],
    ['an id of 1,024 bytes', { idBytes: 1_024 }],
    ['an id of 3,000 bytes', { idBytes: 3_000 }],
  ])('is refused for %s', async (_name, wrong) => {
    expect((await create({ wrong })).credential).toBeUndefined()
  })

  it('is asked for without those that the user has', async () => {
    const { credential } = await createKey()
    const { options } = await askForCreation(deps, { ...creation, known: [credential] })
    expect(options.excludeCredentials).toEqual([{ id: credential.id, transports: ['internal'], type: 'public-key' }])
  })

  it('is not asked for without a relying party', async () => {
    const unset = { config: { webauthn: { relyingParty: undefined } }, logger }
    await expect(askForCreation(unset, creation)).rejects.toThrow('no relying party is set')
  })
})

describe('an assertion', () => {
  async function ask() {
    const { options, challenge } = await askForAssertion(deps, { known: [], timeoutMs: 60_000 })
    return { ...options, challenge, rpId: relyingParty.id }
  }

  it('raises the counter of its credential', async () => {
    const { key, credential } = await createKey()
    const asked = await ask()
    const answer = { response: key.get(asked), challenge: asked.challenge }
    expect(await verifyAssertion(deps, answer, credential)).toEqual({ ...credential, counter: 1 })
  })

  it('is accepted from an authenticator whose counter stays 0', async () => {
    const { key, credential } = await createKey()
    const asked = await ask()
    const answer = { response: key.get(asked, { counter: 0 }), challenge: asked.challenge }
    expect(await verifyAssertion(deps, answer, credential)).toEqual(credential)
  })

  it.each<[string, Misbehaviour]>([
    ['another origin', { origin: 'https://app.example.com.evil.test' }],
    ['another relying party', { rpId: 'evil.test' }],
    ['another challenge', { challenge: 'AAAA' }],
    ['nobody at the authenticator', { userPresent: false }],
    ['a counter that does not rise', { counter: 7 }],
  ])('is refused for %s', async (_name, wrong) => {
    const { key, credential } = await createKey()
    const asked = await ask()
    const answer = { response: key.get(asked, { counter: 8, ...wrong }), challenge: asked.challenge }
    expect(await verifyAssertion(deps, answer, { ...credential, counter: 7 })).toBeUndefined()
  })

  it('is refused under the id or with the signature of another key', async () => {
    const { key, credential } = await createKey()
    const other = await createKey()
    const asked = await ask()
    const { id, response } = other.key.get(asked)
    for (const change of [{ id, rawId: id }, { response }]) {
      const answer = { response: { ...key.get(asked), ...change }, challenge: asked.challenge }
      expect(await verifyAssertion(deps, answer, credential)).toBeUndefined()
    }
  })

  it.each<[boolean, string, Misbehaviour]>([
    [true, 'its owner', {}],
    [false, 'nobody', { userHandle: '' }],
    [false, 'somebody else', { userHandle: toHandle('00000000-0000-4000-8000-000000000002') }],
  ])('names its user: %s, when it names %s', async (names, _name, wrong) => {
    const { key } = await createKey()
    expect(namesUser(key.get(await ask(), wrong), userId)).toBe(names)
  })
})
