import { setTimeout as pause } from 'node:timers/promises'
import { totpCode } from '../../fixtures.ts'
import { say } from '../../program.ts'

/** A user with the last acknowledged values of the old service. */
export interface Known {
  readonly email: string
  /** The newest refresh token. */
  token: string
  /** The `n` of the user's metadata. */
  written: number
  /** An authenticator app that was verified. */
  factor?: { readonly id: string; readonly secret: string }
  /** An access token, which works for an hour. */
  accessToken: string
}

/** The status is 0 if there was no answer. */
type Answer = Readonly<{ status: number; body: Readonly<Record<string, unknown>> }>

export const PASSWORD = 'correct horse battery'
const PATIENCE_MS = 30_000
/**
 * After a start, an overloaded machine answers sign-ins with these statuses for about this long (docs/runbooks/moving-in.md).
 */
const OVERLOADED: readonly unknown[] = [503, 504]
const OVERLOADED_MS = 60_000
const OVERLOADED_STEP_MS = 1_000
/** bcrypt keeps both cores busy, so more requests at once would only wait. */
const AT_ONCE = 4

export async function call(
  url: string,
  payload?: object,
  { method = 'POST', token = '' }: { readonly method?: string; readonly token?: string } = {},
): Promise<Answer> {
  const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) }
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS)
    const answer = await fetch(url, { method, headers, signal, ...(payload && { body: JSON.stringify(payload) }) })
    return { status: answer.status, body: JSON.parse((await answer.text()) || '{}') }
  } catch {
    return { status: 0, body: {} }
  }
}

export async function signUp(url: string, number: number): Promise<Known> {
  const email = `user-${number}@example.com`
  const { status, body } = await call(`${url}/signup`, { email, password: PASSWORD, data: { n: 0 } })
  if (status !== 200) throw new Error(`${email} cannot sign up: ${status} ${JSON.stringify(body)}`)
  return { email, token: String(body.refresh_token), accessToken: String(body.access_token), written: 0 }
}

export async function addFactor(url: string, user: Known): Promise<void> {
  const token = user.accessToken
  const enrolled = await call(`${url}/factors`, { factor_type: 'totp', friendly_name: 'app' }, { token })
  const { id, totp } = enrolled.body
  const secret = typeof totp === 'object' && totp !== null && 'secret' in totp ? String(totp.secret) : ''
  const factor = { id: String(id), secret }
  const { status, body } = await proveFactor(url, token, factor)
  if (status !== 200) throw new Error(`${user.email} cannot verify a factor: ${JSON.stringify([enrolled, body])}`)
  user.factor = factor
  user.token = String(body.refresh_token)
  user.accessToken = String(body.access_token)
}

/** Answers a challenge of an authenticator app by its present code. */
async function proveFactor(url: string, token: string, { id, secret }: NonNullable<Known['factor']>): Promise<Answer> {
  const challenge = await call(`${url}/factors/${id}/challenge`, {}, { token })
  const payload = { challenge_id: challenge.body.id, code: totpCode(secret, 0) }
  return call(`${url}/factors/${id}/verify`, payload, { token })
}

/** Refreshes, and writes a number into the metadata. @throws Error when the service does not acknowledge both */
async function refreshAndWrite(url: string, user: Known, number: number): Promise<void> {
  const { status, body } = await refresh(url, user.token)
  if (status !== 200) throw new Error(`refresh ${status} ${JSON.stringify(body)}`)
  user.token = String(body.refresh_token)
  user.accessToken = String(body.access_token)
  const written = await call(`${url}/user`, { data: { n: number } }, { method: 'PUT', token: user.accessToken })
  if (written.status !== 200) throw new Error(`metadata ${written.status} ${JSON.stringify(written.body)}`)
  user.written = Math.max(user.written, number)
}

export function refresh(url: string, token: string): Promise<Answer> {
  return call(`${url}/token?grant_type=refresh_token`, { refresh_token: token })
}

/** Signs a user in, compares the acknowledged number, and verifies the second factor. @throws Error when one of these fails */
export async function expectSignIn(url: string, user: Known): Promise<void> {
  const { email, written, factor } = user
  const { status, body } = await signIn(url, email)
  const n = numberOf(body)
  // A write whose answer was lost may be stored.
  if (status !== 200 || !(n >= written))
    throw new Error(`${email} signs in with ${status}, metadata ${n} of ${written}: ${JSON.stringify(body)}`)
  if (factor === undefined) return
  const proven = await proveFactor(url, String(body.access_token), factor)
  const level = levelOf(String(proven.body.access_token))
  if (level !== 'aal2') throw new Error(`${email} does not prove the factor: ${JSON.stringify(proven)}`)
}

/** Signs in as a client does that retries when the service is overloaded. */
async function signIn(url: string, email: string): Promise<Answer> {
  const untilMs = performance.now() + OVERLOADED_MS
  for (;;) {
    const answer = await call(`${url}/token?grant_type=password`, { email, password: PASSWORD })
    if (!OVERLOADED.includes(answer.status) || performance.now() > untilMs) return answer
    await pause(OVERLOADED_STEP_MS)
  }
}

export async function forEach(
  users: readonly Known[],
  act: (user: Known, number: number) => Promise<void>,
): Promise<void> {
  const waiting = users.map((user, number) => ({ user, number }))
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await act(next.user, next.number)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
}

function levelOf(accessToken: string): unknown {
  const claims: unknown = JSON.parse(Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString() || 'null')
  return typeof claims === 'object' && claims !== null && 'aal' in claims ? claims.aal : undefined
}

function numberOf({ user }: Answer['body']): number {
  const metadata = typeof user === 'object' && user !== null && 'user_metadata' in user ? user.user_metadata : {}
  return typeof metadata === 'object' && metadata !== null && 'n' in metadata ? Number(metadata.n) : Number.NaN
}

/** The outcomes of the requests of a load. A user who still waits for an answer sends none. */
interface LoadCounts {
  readonly acknowledged: number
  /** How the other requests failed. Status 0: no answer. */
  readonly failures: readonly string[]
}

interface Load {
  stop(): Promise<LoadCounts>
}

/** Each so-manyth request signs a user up, and each so-manyth of these enrols an authenticator app. */
const SIGN_UP_EVERY = 5
const FACTOR_EVERY = 25
const SAID_MAX = 10
/** Keeps the emails of the load apart from those of earlier users. */
const FIRST_NUMBER = 1_000_000

/**
 * Sends refreshes, changes of metadata, sign-ups and enrolments to the old service. Each user has one request at a time.
 * @param known receives new users and the acknowledged values
 * @param rate requests a second
 */
export function sendLoad(url: string, known: Known[], rate: number): Load {
  const busy = new Set<Known>()
  const open = new Set<Promise<void>>()
  const failures: string[] = []
  let [ticks, acknowledged] = [0, 0]
  const rememberOutcome = (request: Promise<void>) =>
    request.then(
      () => {
        acknowledged += 1
      },
      (error: unknown) => {
        failures.push(String(error))
      },
    )
  const sendOne = async (): Promise<void> => {
    ticks += 1
    const number = ticks
    const user = known[number % known.length]
    if (number % SIGN_UP_EVERY === 0) {
      await rememberOutcome(join(url, known, number))
    } else if (user !== undefined && !busy.has(user)) {
      busy.add(user)
      await rememberOutcome(refreshAndWrite(url, user, number))
      busy.delete(user)
    }
  }
  const timer = setInterval(() => {
    const request = sendOne().finally(() => open.delete(request))
    open.add(request)
  }, 1_000 / rate)
  return {
    stop: async () => {
      clearInterval(timer)
      await Promise.all(open)
      return { acknowledged, failures }
    },
  }
}

/**
 * Prints the outcome of a load.
 * @throws Error when nothing was acknowledged, as on an overloaded machine: then nothing was tested
 */
export function sayAcknowledged({ acknowledged, failures }: LoadCounts, moment: string): void {
  say(`${acknowledged} requests were acknowledged ${moment}, ${failures.length} failed`)
  for (const failure of failures.slice(0, SAID_MAX)) say(`failed: ${failure}`)
  if (acknowledged === 0) throw new Error('the old service has acknowledged nothing meanwhile: take a quieter machine')
}

async function join(url: string, known: Known[], number: number): Promise<void> {
  const made = await signUp(url, FIRST_NUMBER + number)
  try {
    if (number % FACTOR_EVERY === 0) await addFactor(url, made)
  } finally {
    known.push(made)
  }
}
