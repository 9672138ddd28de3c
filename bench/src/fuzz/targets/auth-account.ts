import { randomUUID } from 'node:crypto'
import { createAuthenticator } from '@trestle/testing/software-authenticator.ts'
import { z } from 'zod'
import { totpCode } from '../../fixtures.ts'
import type { Memory } from '../memory.ts'
import type { Ask, World } from '../target.ts'
import { PASSWORD } from './auth-requests.ts'
import { OPERATORS, type Operators, operatorHeaders } from './operators.ts'

/** The origin of the web page for passkeys. */
export const WEB_ORIGIN = 'http://localhost:3000'

const Session = z.object({
  access_token: z.string(),
  user: z.object({ id: z.string(), identities: z.array(z.object({ identity_id: z.string() })) }),
})
const Claims = z.object({ session_id: z.string() })
const Link = z.object({ hashed_token: z.string() })
const Factor = z.object({ id: z.string(), totp: z.object({ secret: z.string() }) })
const RecoveryCodes = z.object({ codes: z.array(z.string()) })
const Id = z.object({ id: z.string() })
const Registration = z.object({
  challenge_id: z.string(),
  options: z.object({ challenge: z.string(), rp: Id, user: Id }),
})
const SignIn = z.object({ challenge_id: z.string(), options: z.object({ challenge: z.string(), rpId: z.string() }) })

/**
 * Creates a new account, because the last one may be banned, deleted or signed out. The account has two ways to sign in, an open
 * link, factors, recovery codes and a passkey. Another factor and another passkey are about to be added. The password is inserted
 * as a hash, because hashing it would take longer than all other steps.
 * @returns an access token of `aal2`
 */
export async function openAccount({
  ask,
  memory,
  actor,
  admin,
  ...account
}: {
  readonly ask: Ask
  readonly memory: Memory
  readonly actor: number
  readonly admin: Readonly<Record<string, string>>
  readonly name: string
  readonly phone: string
  readonly passwordHash: string
}): Promise<string> {
  const { phone, passwordHash: password_hash } = account
  const email = `${account.name}@fuzz.example`
  const post = (target: string, body: object, headers = {}) => ask({ actor, method: 'POST', target, body, headers })
  await post('/admin/users', { email, phone, password_hash, email_confirm: true, phone_confirm: true }, admin)
  const link = async () => Link.parse(await post('/admin/generate_link', { type: 'magiclink', email }, admin))
  const { hashed_token: token_hash } = await link()
  const session = Session.parse(await post('/verify', { type: 'magiclink', token_hash }))
  await link()
  await ask({ actor, method: 'GET', target: '/admin/users?cursor=&per_page=5', headers: admin })
  const owner = { ask, actor, headers: bearer(session.access_token) }
  const first = await enroll(owner, 'first')
  const raised = Session.parse(await post(first.target, first.body, owner.headers))
  const raisedOwner = { ask, actor, headers: bearer(raised.access_token) }
  // Do not use the name `code`. The log may contain a `code` that states why a user cannot sign in.
  const { codes } = RecoveryCodes.parse(await post('/factors/recovery-codes', {}, raisedOwner.headers))
  for (const code of codes) memory.keep(actor, 'recoveryCode', code)
  const { factorId, body } = await enroll(raisedOwner, 'second')
  memory.keep(actor, 'totpCode', body.code)
  memory.keep(actor, 'proof', { factorId, ...body })
  await addPasskeys(raisedOwner, memory)
  const userId = session.user.id
  memory.keep(actor, 'account', { userId, factorId: first.factorId, sessionId: sessionOf(raised.access_token) })
  // Store the id last, because the answers of ceremonies identify users by other ids.
  memory.keep(actor, 'userId', userId)
  for (const identity of session.user.identities) memory.keep(actor, 'identityId', identity.identity_id)
  return raised.access_token
}

function sessionOf(token: string): string {
  const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  return Claims.parse(claims).session_id
}

export function bearer(token: string): { readonly authorization: string } {
  return { authorization: `Bearer ${token}` }
}

interface Owner {
  readonly ask: Ask
  readonly actor: number
  readonly headers: Readonly<Record<string, string>>
}

/** Adds an authenticator app and requests its challenge. @returns the body that verifies the app */
async function enroll({ ask, actor, headers }: Owner, name: string) {
  const post = (target: string, body: object) => ask({ actor, method: 'POST', target, body, headers })
  const { id, totp } = Factor.parse(await post('/factors', { factor_type: 'totp', friendly_name: name }))
  const challenge = Id.parse(await post(`/factors/${id}/challenge`, {}))
  const code = totpCode(totp.secret, 0)
  return { factorId: id, target: `/factors/${id}/verify`, body: { challenge_id: challenge.id, code } }
}

/** Adds a passkey. Stores a request that would add another one, and a request that would sign in with the first. */
async function addPasskeys({ ask, actor, headers }: Owner, memory: Memory): Promise<void> {
  const post = (step: string, body?: object) =>
    ask({ actor, method: 'POST', target: `/passkeys/${step}`, headers, ...(body && { body }) })
  const authenticator = createAuthenticator(WEB_ORIGIN)
  const begin = async () => Registration.parse(await post('registration/options'))
  const { challenge_id, options } = await begin()
  const added = await post('registration/verify', { challenge_id, credential: authenticator.create(options) })
  memory.keep(actor, 'passkeyId', Id.parse(added).id)
  const other = await begin()
  const { id, response } = createAuthenticator(WEB_ORIGIN).create(other.options)
  memory.keep(actor, 'registration', { challenge_id: other.challenge_id, id, ...response })
  const signIn = SignIn.parse(await post('authentication/options'))
  const shown = authenticator.get(signIn.options)
  memory.keep(actor, 'assertion', { challenge_id: signIn.challenge_id, id: shown.id, ...shown.response })
}

interface Appointment extends World {
  readonly admin: Readonly<Record<string, string>>
  readonly name: string
  readonly passwordHash: string
  /** The present operators, who assign roles as long as they are allowed to. */
  readonly last: Operators | undefined
}

const ACTOR = 0
const User = z.object({ id: z.string() })
const SignedIn = z.object({ access_token: z.string() })
const Appointed = z.object({ user: z.object({ app_metadata: z.object({ console_role: z.string() }) }) })

/** Creates new operators, because the last ones may be banned, deleted or signed out. */
export async function appointOperators(appointment: Appointment): Promise<Operators> {
  const [operator, viewer] = [
    await appoint(appointment, OPERATORS.operator),
    await appoint(appointment, OPERATORS.viewer),
  ]
  return { operator, viewer }
}

async function appoint(appointment: Appointment, role: (typeof OPERATORS)[keyof typeof OPERATORS]) {
  const { ask, deployment, admin, name, passwordHash: password_hash } = appointment
  const post = (target: string, body: object, headers = {}) =>
    ask({ actor: ACTOR, method: 'POST', target, body, headers })
  const email = `${role}-${name}@fuzz.example`
  const { id } = User.parse(await post('/admin/users', { email, password_hash, email_confirm: true }, admin))
  if (!(await assignRole(appointment, id, role))) await deployment.runCommand('users', 'assign-role', id, role)
  const { access_token } = SignedIn.parse(await post('/token?grant_type=password', { email, password: PASSWORD }))
  return operatorHeaders(deployment.secrets, role, access_token)
}

/** Returns whether the last operator could assign the role. The command always can, but takes a second. */
async function assignRole({ ask, last }: Appointment, userId: string, role: string): Promise<boolean> {
  if (last === undefined) return false
  const answer = await ask({
    actor: ACTOR,
    method: 'PUT',
    target: `/operator/users/${userId}/console-role`,
    body: { role },
    headers: { ...last.operator, 'idempotency-key': randomUUID() },
  })
  return Appointed.safeParse(answer).data?.user.app_metadata.console_role === role
}
