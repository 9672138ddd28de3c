import { setTimeout as delay } from 'node:timers/promises'
import { startSmtpListener } from '@trestle/stack/mail/smtp-listener.ts'
import { openBench } from '../bench.ts'
import { readCount, say } from '../program.ts'
import { median } from '../statistics.ts'

// Checks that neither responses nor their times reveal who has an account: `node bench/src/drills/enumeration.ts [pairs]`, 500 by
// default. Each request is sent alternately for a known and an unknown address. Status, headers and shape must be equal, and the
// median time difference must be below 5 ms. Otherwise the exit status is 1. On a busy machine the times are not reliable.

const GOAL_MS = 5
/** Lets work after a response end, so that it does not slow the next request. */
const PAUSE_MS = 25
const WARM_UP = 10

/** A request about one user. `known` is the address prefix of users with an account. */
interface Probe {
  readonly name: string
  readonly known: 'confirmed' | 'pending'
  readonly path: string
  readonly body: (email: string) => object
}

const probes: readonly Probe[] = [
  { name: 'POST /signup, confirmed', known: 'confirmed', path: '/signup', body: (email) => ({ email, password }) },
  { name: 'POST /signup, pending', known: 'pending', path: '/signup', body: (email) => ({ email, password }) },
  { name: 'POST /recover', known: 'confirmed', path: '/recover', body: (email) => ({ email }) },
  { name: 'POST /otp', known: 'confirmed', path: '/otp', body: (email) => ({ email }) },
  { name: 'POST /magiclink', known: 'confirmed', path: '/magiclink', body: (email) => ({ email }) },
  { name: 'POST /resend', known: 'pending', path: '/resend', body: (email) => ({ type: 'signup', email }) },
  {
    name: 'POST /token, wrong password',
    known: 'confirmed',
    path: '/token?grant_type=password',
    body: (email) => ({ email, password }),
  },
  {
    name: 'POST /verify, wrong code',
    known: 'pending',
    path: '/verify',
    body: (email) => ({ type: 'signup', email, token: '000000' }),
  },
]

const password = 'not the password of any user'
const pairs = readCount('pairs', 500)
let unknown = 0
await using bench = await openBench()
const smtp = await startSmtpListener({ add: async () => {} }, 0)
bench.defer(smtp.close)
const auth = await bench.deploy('auth', {
  env: {
    AUTH_SMTP_PORT: String(smtp.port),
    AUTH_SMTP_MAX_FREQUENCY: '0',
    AUTH_RATE_LIMIT_EMAIL_SENT: 'off',
    AUTH_SECURITY_FAILED_ATTEMPTS: 'off',
  },
})
const server = await auth.serve()
say(`${pairs} pairs of requests each; medians in milliseconds`)
for (const probe of probes) {
  // Each probe has its own users, so none of them has received a mail.
  await auth.execute(seed(probe.known, pairs + WARM_UP))
  if (!(await tryProbe(server.url, probe))) process.exitCode = 1
  await auth.execute('TRUNCATE auth.users CASCADE')
}

async function tryProbe(url: string, probe: Probe): Promise<boolean> {
  const times: Record<'known' | 'unknown', number[]> = { known: [], unknown: [] }
  const shapes = { known: new Set<string>(), unknown: new Set<string>() }
  for (let round = 0; round < pairs + WARM_UP; round += 1) {
    const emails = { known: `${probe.known}${round}@example.com`, unknown: `unknown${++unknown}@example.com` }
    const order = round % 2 === 0 ? (['known', 'unknown'] as const) : (['unknown', 'known'] as const)
    for (const side of order) {
      const { ms, shape } = await ask(url + probe.path, probe.body(emails[side]))
      shapes[side].add(shape)
      if (round >= WARM_UP) times[side].push(ms)
      await delay(PAUSE_MS)
    }
  }
  // Compare within a round, because a short disturbance of the machine affects both sides.
  const gap = median(times.known.map((ms, round) => ms - (times.unknown[round] ?? Number.NaN)))
  const isAlike = [...shapes.known].sort().join() === [...shapes.unknown].sort().join()
  const isFine = isAlike && Math.abs(gap) < GOAL_MS
  const columns = [median(times.known), median(times.unknown), gap].map((ms) => ms.toFixed(2).padStart(8))
  const verdict = isAlike ? (isFine ? 'ok' : `above ${GOAL_MS} ms`) : 'the answers differ'
  say(`${probe.name.padEnd(28)} known${columns[0]}  unknown${columns[1]}  gap${columns[2]}  ${verdict}`)
  if (!isAlike) say(`  known: ${[...shapes.known].join(' | ')}\n  unknown: ${[...shapes.unknown].join(' | ')}`)
  return isFine
}

/** Sends a request. The shape is the response without values that differ between requests. */
async function ask(url: string, body: object): Promise<{ readonly ms: number; readonly shape: string }> {
  const startMs = performance.now()
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  const ms = performance.now() - startMs
  const headers = [...response.headers].map(([name, value]) => (isVarying(name) ? name : `${name}: ${value}`))
  return { ms, shape: [response.status, ...headers, blank(text)].join('; ') }
}

function isVarying(header: string): boolean {
  return header === 'date' || header === 'x-request-id' || header === 'content-length'
}

function blank(text: string): string {
  return text
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'ID')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+\+00:00/g, 'TIME')
    .replaceAll(/[a-z]+\d+@example\.com/g, 'EMAIL')
}

/** Users with an identity and an unknown password. Pending users also have a confirmation. */
function seed(kind: Probe['known'], count: number): string {
  const confirmedAt = kind === 'confirmed' ? 'now()' : 'NULL'
  return `WITH people AS (
      INSERT INTO auth.users (id, aud, role, email, encrypted_password, email_confirmed_at, confirmation_sent_at,
          raw_app_meta_data, created_at, updated_at)
        SELECT gen_random_uuid(), 'authenticated', 'authenticated', '${kind}' || n || '@example.com',
          '$argon2id$v=19$m=19456,t=2,p=1$GJKc8fEj4AoR/PTojbIYew$4FW369TfP4mverPz47iy55cXe0b7kDmsq3By5PqRzWk',
          ${confirmedAt}, now(), '{"provider":"email","providers":["email"]}', now(), now()
        FROM generate_series(0, ${count - 1}) AS n RETURNING id, email),
    tokens AS (
      INSERT INTO auth.one_time_tokens (user_id, kind, relates_to, otp_hash, otp_salt, expires_at)
        SELECT id, 'confirmation', email, sha256('x'), '\\x00000000000000000000000000000000', now() + interval '1 day'
        FROM people WHERE '${kind}' = 'pending')
    INSERT INTO auth.identities (user_id, provider, provider_id, identity_data, created_at, updated_at)
      SELECT id, 'email', id, jsonb_build_object('sub', id, 'email', email, 'email_verified', ${confirmedAt} IS NOT NULL,
        'phone_verified', false), now(), now()
      FROM people`
}
