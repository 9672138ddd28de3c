import { generateKeyPairSync, sign } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { openBench } from '../bench.ts'
import { PASSWORD } from '../fixtures.ts'
import { readCount, report, say } from '../program.ts'
import type { Server } from '../servers/server.ts'

// Rotates the signing key of two auth processes under load: `node bench/src/drills/key-rotation.ts [requests a second]`, 200 by
// default. Neither process may refuse a valid token during the rotation. After the window of the old key, both must refuse its
// tokens, even if a token itself expires later. Otherwise the exit status is 1.

const USERS = 20
const TOKEN_SECONDS = 10
const CALM_MS = 5_000
/** Processes read the keys every 5 s. */
const KNOWN_AFTER_MS = 6_000
/** A token is not sent if it may expire before it arrives. */
const MARGIN_MS = 1_000
const OLD_KEY = 'old'
const NEW_KEY = 'new'

const rate = readCount('requests a second', 200)

interface Session {
  readonly accessToken: string
  readonly refreshToken: string
  readonly userId: string
  readonly kid: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

const SessionAnswer = z.object({
  access_token: z.string(),
  refresh_token: z.string(),
  expires_at: z.number(),
  user: z.object({ id: z.string() }),
})
const Header = z.object({ kid: z.string() })

interface Load {
  readonly users: Session[]
  /** Users with a token exchange in progress. */
  readonly refreshing: Set<number>
  isOver: boolean
  requests: number
  refreshes: number
  readonly refused: string[]
  readonly kids: Set<string>
}

await using bench = await openBench()
const key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
const jwk = { ...key.export({ format: 'jwk' }), kid: OLD_KEY, alg: 'ES256', key_ops: ['sign'] }
const auth = await bench.deploy('auth', {
  env: {
    AUTH_JWT_KEYS: JSON.stringify([jwk]),
    AUTH_JWT_EXP: String(TOKEN_SECONDS),
    AUTH_MAILER_AUTOCONFIRM: 'true',
    AUTH_RATE_LIMIT_EMAIL_SENT: 'off',
  },
})
const servers = [await auth.serve({ coreCount: 1 }), await auth.serve({ coreCount: 1 })]
const load: Load = {
  users: [],
  refreshing: new Set(),
  isOver: false,
  requests: 0,
  refreshes: 0,
  refused: [],
  kids: new Set(),
}
for (let count = 0; count < USERS; count += 1) load.users.push(await signUp(count))
const immortal = signLongLived(load.users[0]?.userId ?? '')
const running = run()
await delay(CALM_MS)
await auth.runCommand('keys', 'add', '--kid', NEW_KEY)
await auth.runCommand('keys', 'promote', NEW_KEY, '--now')
const endMs = await readEnd()
say(`the new key signs; the old one verifies for another ${Math.round((endMs - Date.now()) / 1_000)} s`)
await delay(Math.max(0, endMs - MARGIN_MS - Date.now()))
const within = await askAll(immortal)
await delay(endMs + KNOWN_AFTER_MS - Date.now())
const beyond = await askAll(immortal)
await delay(CALM_MS)
load.isOver = true
await running
say(`${load.requests} requests and ${load.refreshes} refreshes, ${load.refused.length} refused, keys ${[...load.kids]}`)
report(
  [
    ...load.refused.slice(0, 10),
    ...(within.every((status) => status === 200) ? [] : [`within its window the old key was refused: ${within}`]),
    ...(beyond.every((status) => status === 403) ? [] : [`after its window the old key was accepted: ${beyond}`]),
    ...(load.kids.has(NEW_KEY) ? [] : ['the new key never signed']),
  ],
  'no valid token was refused; the old key was refused after its window',
)

/** Sends requests at a fixed rate, alternating users and processes, without waiting for responses. */
async function run(): Promise<void> {
  const pending = new Set<Promise<void>>()
  const startMs = performance.now()
  for (let count = 0; !load.isOver; count += 1) {
    const dueMs = startMs + (count * 1_000) / rate - performance.now()
    if (dueMs > 0) await delay(dueMs)
    const asked = askOne(count).finally(() => pending.delete(asked))
    pending.add(asked)
  }
  await Promise.all(pending)
}

async function askOne(count: number): Promise<void> {
  const user = count % USERS
  const session = load.users[user]
  if (!session) throw new Error('no user')
  const leftMs = session.expiresAt - Date.now()
  if (leftMs < (TOKEN_SECONDS * 1_000) / 2 && !load.refreshing.has(user)) {
    load.refreshing.add(user)
    load.users[user] = await refresh(session, count).finally(() => load.refreshing.delete(user))
    return
  }
  if (leftMs < MARGIN_MS) return
  const { status, body } = await ask(serverOf(count), session.accessToken)
  load.requests += 1
  if (status !== 200) load.refused.push(`GET /user with ${session.kid}: ${status} ${body}`)
}

/** Alternates processes, so that tokens are verified by a process that did not sign them. */
function serverOf(count: number): Server {
  const server = servers[Math.floor(count / USERS + count) % servers.length]
  if (!server) throw new Error('no server')
  return server
}

async function refresh(session: Session, count: number): Promise<Session> {
  const payload = { refresh_token: session.refreshToken }
  const answer = await send(`${serverOf(count).url}/token?grant_type=refresh_token`, payload)
  load.refreshes += 1
  if (answer.status === 200) return readSession(answer.body)
  load.refused.push(`refresh: ${answer.status} ${answer.body}`)
  return session
}

async function signUp(count: number): Promise<Session> {
  const payload = { email: `user${count}@example.com`, password: PASSWORD }
  const { status, body } = await send(`${serverOf(count).url}/signup`, payload)
  if (status !== 200) throw new Error(`POST /signup answered ${status}: ${body}`)
  return readSession(body)
}

function readSession(body: string): Session {
  const answer = SessionAnswer.parse(JSON.parse(body))
  const { access_token: accessToken, refresh_token: refreshToken, expires_at, user } = answer
  const { kid } = Header.parse(JSON.parse(Buffer.from(accessToken.split('.')[0] ?? '', 'base64url').toString()))
  load.kids.add(kid)
  return { accessToken, refreshToken, userId: user.id, kid, expiresAt: expires_at * 1_000 }
}

async function askAll(token: string): Promise<readonly number[]> {
  return Promise.all(servers.map(async (server) => (await ask(server, token)).status))
}

async function ask(server: Server, token: string) {
  const response = await fetch(`${server.url}/user`, { headers: { authorization: `Bearer ${token}` } })
  return { status: response.status, body: await response.text() }
}

async function send(url: string, payload: object) {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(payload) })
  return { status: response.status, body: await response.text() }
}

/** Signs a token with the old key that expires after the key's window. */
function signLongLived(userId: string): string {
  const exp = Math.floor(Date.now() / 1_000) + 3_600
  const claims = { sub: userId, aud: 'authenticated', role: 'authenticated', exp }
  const parts = [{ alg: 'ES256', typ: 'JWT', kid: OLD_KEY }, claims]
  const data = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${data}.${sign('sha256', Buffer.from(data), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
}

/** The time from which processes must refuse the old key, in milliseconds since 1970. */
async function readEnd(): Promise<number> {
  const [row] = await auth.execute(`SELECT retire_at FROM auth.signing_keys WHERE kid = '${OLD_KEY}'`)
  return z.object({ retire_at: z.date() }).parse(row).retire_at.getTime()
}
