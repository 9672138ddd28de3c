import { TOTP } from 'otpauth'
import { z } from 'zod'
import { createDemoClient, type DemoClient } from './demo-client.ts'

interface DemoUser {
  readonly name: string
  readonly email: string
  readonly role: 'owner' | 'staff' | 'customer'
  /** How the user signs in, or why the user cannot sign in. */
  readonly way: 'password' | 'password and authenticator app' | 'link of a mail' | 'banned' | 'invited'
}

/** Adds the missing users, and opens a first session for users who can sign in. Returns lines for the terminal. */
export async function fillAuth(auth: {
  readonly url: string
  readonly serviceKey: string
}): Promise<readonly string[]> {
  const call = createDemoClient(auth.url, `Bearer ${auth.serviceKey}`)
  const { body } = await call('GET', '/admin/users?per_page=1000&filter=@nordhavn.example')
  const known = z.object({ users: z.array(Known) }).parse(body).users
  // Add the users one after the other, so that lists show them in this order.
  for (const wanted of users) {
    const found = known.find(({ email }) => email === wanted.email) ?? (await addUser(call, wanted))
    if (!isFinished(wanted, found)) await signIn(call, wanted, found)
  }
  const { body: after } = await call('GET', '/admin/users?per_page=1000&filter=anton@nordhavn.example')
  const [anton] = z.object({ users: z.array(Known) }).parse(after).users
  return describeUsers(anton?.app_metadata[TOTP_MEMBER])
}

const user = (name: string, role: DemoUser['role'], way: DemoUser['way']): DemoUser => ({
  name,
  email: `${name.split(' ')[0]?.toLowerCase()}@nordhavn.example`,
  role,
  way,
})

const users: readonly DemoUser[] = [
  user('Freja Holm', 'owner', 'password'),
  user('Anton Berg', 'staff', 'password and authenticator app'),
  user('Maja Lind', 'staff', 'password'),
  user('Oskar Dahl', 'staff', 'invited'),
  user('Clara Winther', 'customer', 'password'),
  user('Emil Krogh', 'customer', 'link of a mail'),
  user('Sofia Rossi', 'customer', 'password'),
  user('Lucas Meyer', 'customer', 'link of a mail'),
  user('Nora Vestergaard', 'customer', 'password'),
  user('Viktor Storm', 'customer', 'banned'),
]

const PASSWORD = 'nordhavn demo 2026'
/** Auth shows the secret of an authenticator app once. The demo keeps it in `app_metadata`, which only admins can change. */
const TOTP_MEMBER = 'demo_totp_uri'

const Known = z.object({
  id: z.string(),
  email: z.string(),
  last_sign_in_at: z.string().optional(),
  app_metadata: z.looseObject({ [TOTP_MEMBER]: z.string().optional() }),
})
type Known = z.infer<typeof Known>
const Session = z.object({ access_token: z.string() })
const Factors = z.array(z.object({ id: z.string() }))
const Enrolled = z.object({ id: z.string(), totp: z.object({ uri: z.string() }) })

/** Whether a user has signed in, with an app whose secret the demo has stored, if the user needs one. */
function isFinished({ way }: DemoUser, { last_sign_in_at, app_metadata }: Known): boolean {
  if (way === 'password and authenticator app') return app_metadata[TOTP_MEMBER] !== undefined
  return last_sign_in_at !== undefined
}

async function addUser(call: DemoClient, { name, email, role, way }: DemoUser): Promise<Known> {
  const data = { full_name: name }
  if (way === 'invited') return Known.parse((await call('POST', '/invite', { body: { email, data } })).body)
  const { body } = await call('POST', '/admin/users', {
    body: {
      email,
      email_confirm: true,
      user_metadata: data,
      app_metadata: { role },
      ...(way !== 'link of a mail' && { password: PASSWORD }),
      ...(way === 'banned' && { ban_duration: '8760h' }),
    },
  })
  return Known.parse(body)
}

async function signIn(call: DemoClient, { email, way }: DemoUser, { id }: Known): Promise<void> {
  if (way === 'banned' || way === 'invited') return
  if (way === 'link of a mail') {
    const { body } = await call('POST', '/admin/generate_link', { body: { type: 'magiclink', email } })
    const { hashed_token } = z.object({ hashed_token: z.string() }).parse(body)
    await call('POST', '/verify', { body: { type: 'magiclink', token_hash: hashed_token }, authorization: '' })
    return
  }
  const credentials = { body: { email, password: PASSWORD }, authorization: '' }
  const session = Session.parse((await call('POST', '/token?grant_type=password', credentials)).body)
  if (way === 'password and authenticator app') await addAuthenticator(call, id, `Bearer ${session.access_token}`)
}

async function addAuthenticator(call: DemoClient, userId: string, authorization: string): Promise<void> {
  // An interrupted run may have left an app with a lost secret. Delete such apps.
  const { body } = await call('GET', `/admin/users/${userId}/factors`)
  for (const { id } of Factors.parse(body)) await call('DELETE', `/admin/users/${userId}/factors/${id}`)
  const wanted = { factor_type: 'totp', friendly_name: 'Phone of Anton' }
  const factor = Enrolled.parse((await call('POST', '/factors', { body: wanted, authorization })).body)
  const challenge = await call('POST', `/factors/${factor.id}/challenge`, { body: {}, authorization })
  const { id: challenge_id } = z.object({ id: z.string() }).parse(challenge.body)
  const code = new URL(factor.totp.uri).searchParams.get('secret') ?? ''
  const proof = { challenge_id, code: new TOTP({ secret: code }).generate() }
  await call('POST', `/factors/${factor.id}/verify`, { body: proof, authorization })
  await call('PUT', `/admin/users/${userId}`, { body: { app_metadata: { [TOTP_MEMBER]: factor.totp.uri } } })
}

function describeUsers(totpUri: string | undefined): readonly string[] {
  const emails = (way: DemoUser['way']) => users.filter((one) => one.way === way).map(({ email }) => email)
  const secret = totpUri === undefined ? undefined : new URL(totpUri).searchParams.get('secret')
  return [
    `sign in       ${emails('password').join(', ')}`,
    `              password: ${PASSWORD}`,
    `with an app   ${emails('password and authenticator app').join(', ')}, the same password, authenticator secret: ${secret}`,
    `by a mail     ${emails('link of a mail').join(', ')}`,
    `banned        ${emails('banned').join(', ')}`,
    `invited       ${emails('invited').join(', ')}, see the mail catcher`,
  ]
}
