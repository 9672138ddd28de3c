import { setTimeout as pause } from 'node:timers/promises'
import { totpCode } from '../../fixtures.ts'
import { say } from '../../program.ts'

/** A user with the values that the old service acknowledged last. */
export interface Known {
  readonly email: string
  /** The newest refresh token. */
  token: string
  /** The member `n` of the user's metadata. */
  written: number
  /** A verified authenticator app. */
  factor?: { readonly id: string; readonly secret: string }
  /** An access token, valid for an hour. */
  accessToken: string
}

/** The status is 0 if there was no response. */
type Answer = Readonly<{ status: number; body: Readonly<Record<string, unknown>> }>

export const PASSWORD = 'correct horse battery'
const PATIENCE_MS = 30_000
/** After a start on an overloaded machine, sign-ins may get these statuses for about this long (docs/runbooks/moving-in.md). */
const OVERLOADED: readonly unknown[] = [503, 504]
const OVERLOADED_MS = 60_000
const OVERLOADED_STEP_MS = 1_000
/** bcrypt keeps both cores busy, so more concurrent requests would only wait. */
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

/** Answers the challenge of an authenticator app with its current code. */
async function proveFactor(url: string, token: string, { id, secret }: NonNullable<Known['factor']>): Promise<Answer> {
  const challenge = await call(`${url}/factors/${id}/challenge`, {}, { token })
  const payload = { challenge_id: challenge.body.id, code: totpCode(secret, 0) }
  return call(`${url}/factors/${id}/verify`, payload, { token })
}

/** Refreshes, and writes a number into the metadata. @throws Error unless the service acknowledges both */
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

/** Signs a user in, compares the acknowledged number, and verifies the second factor. @throws Error if one fails */
export async function expectSignIn(url: string, user: Known): Promise<void> {
  const { email, written, factor } = user
  const { status, body } = await signIn(url, email)
  const n = numberOf(body)
  // A write may be stored although its response was lost.
  if (status !== 200 || !(n >= written))
    throw new Error(`${email} signs in with ${status}, metadata ${n} of ${written}: ${JSON.stringify(body)}`)
  if (factor === undefined) return
  const proven = await proveFactor(url, String(body.access_token), factor)
  const level = levelOf(String(proven.body.access_token))
  if (level !== 'aal2') throw new Error(`${email} does not prove the factor: ${JSON.stringify(proven)}`)
}

/** Signs in like a client that retries if the service is overloaded. */
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

/** The outcomes of a load. A user who waits for a response sends no other request. */
interface LoadCounts {
  readonly acknowledged: number
  /** Why the other requests failed. Status 0 means no response. */
  readonly failures: readonly string[]
}

interface Load {
  stop(): Promise<LoadCounts>
}

/** One request in this many is a sign-up, and one sign-up in this many enrols an authenticator app. */
const SIGN_UP_EVERY = 5
const FACTOR_EVERY = 25
const SAID_MAX = 10
/** Makes the emails of the load differ from those of earlier users. */
const FIRST_NUMBER = 1_000_000

/**
 * Sends refreshes, metadata changes, sign-ups and enrolments to the old service. Each user has one open request at most.
 * @param known receives new users and the acknowledged values
 * @param rate requests per second
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
 * @throws Error if nothing was acknowledged, for example on an overloaded machine, because then nothing was tested
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
