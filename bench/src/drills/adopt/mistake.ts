import { SECRET } from '../../compare-servers/tokens.ts'
import { signAdminToken } from '../../fixtures.ts'
import { say } from '../../program.ts'
import { findDifference, migrateOld, type Place, readRows, start } from './place.ts'
import { call, type Known, PASSWORD } from './users.ts'

const REFUSED = 400
const SCHEMAS = ['auth', 'auth_before_trestle'] as const

/**
 * Starts the old program on an adopted database, as an operator may do by mistake, and sends it requests of clients and admins.
 * @param program the old program, which migrates before it serves, as in its container
 * @throws Error if it signs a user in, acknowledges a change, or changes a row
 */
export async function expectHarmless(place: Place, program: string, [first, second]: readonly Known[]): Promise<void> {
  if (first === undefined || second === undefined) throw new Error('the mistake needs two users')
  const before = await readRows(place.databaseUrl, SCHEMAS)
  await migrateOld(place, program)
  await using old = await start(place, place.theirs)
  const answers: string[] = []
  for (const { what, path, payload, method = 'POST', token } of attemptsOf(first, second)) {
    const { status, body } = await call(old.url + path, payload, { method, token })
    answers.push(`${what} ${status}`)
    if (status < REFUSED) throw new Error(`the old program acknowledges ${what}: ${JSON.stringify(body)}`)
  }
  await old.stop()
  const difference = findDifference(before, await readRows(place.databaseUrl, SCHEMAS))
  if (difference !== undefined) throw new Error(`the old program changes rows after the switch: ${difference}`)
  say(`started again by mistake, the old program refuses all, and changes no row: ${answers.join(', ')}`)
}

interface Attempt {
  readonly what: string
  readonly path: string
  readonly payload: object
  readonly method?: string
  readonly token: string
}

/** Requests of clients and admins. The second user's access token, issued by the old service, is still valid. */
function attemptsOf(first: Known, second: Known): readonly Attempt[] {
  const { email } = first
  const [noToken, token, admin] = ['', second.accessToken, signAdminToken(SECRET)]
  const password = PASSWORD
  const fresh = { email: 'nobody-yet@example.com', password }
  const code = { email, create_user: false }
  return [
    { what: 'sign-in', path: '/token?grant_type=password', payload: { email, password }, token: noToken },
    {
      what: 'refresh',
      path: '/token?grant_type=refresh_token',
      payload: { refresh_token: first.token },
      token: noToken,
    },
    { what: 'sign-up', path: '/signup', payload: fresh, token: noToken },
    { what: 'one-time code', path: '/otp', payload: code, token: noToken },
    { what: 'magic link', path: '/magiclink', payload: { email }, token: noToken },
    { what: 'recovery', path: '/recover', payload: { email }, token: noToken },
    { what: 'metadata', path: '/user', payload: { data: { n: -1 } }, method: 'PUT', token },
    { what: 'password', path: '/user', payload: { password: 'another horse' }, method: 'PUT', token },
    { what: 'enrolment', path: '/factors', payload: { factor_type: 'totp', friendly_name: 'late' }, token },
    { what: 'sign-out', path: '/logout', payload: {}, token },
    { what: 'invitation', path: '/invite', payload: { email: fresh.email }, token: admin },
    { what: 'new user', path: '/admin/users', payload: fresh, token: admin },
    { what: 'link', path: '/admin/generate_link', payload: { type: 'magiclink', email }, token: admin },
  ]
}
