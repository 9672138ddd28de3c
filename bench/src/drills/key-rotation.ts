import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { z } from 'zod'
import { createBenchFolder, say } from '../program.ts'
import { openDatabaseServer } from '../servers/database.ts'
import { deploy } from '../servers/deployment.ts'
import type { Server } from '../servers/server.ts'

// Changes the signing key of two processes of auth under load: `node bench/src/drills/key-rotation.ts [requests a second]`, 200 by
// default. Neither process may refuse a valid token meanwhile, and both must refuse a token of the old key once the key's
// window is over, even if the token's own expiry is later. Exit status 1 when one of these is not so.

const USERS = 20
const TOKEN_SECONDS = 10
/** How long the load lasts before and after the change. */
const CALM_MS = 5_000
/** Processes read the keys every 5 s. */
const KNOWN_AFTER_MS = 6_000
/** A token that is about to expire may expire on its way, so it is not sent. */
const MARGIN_MS = 1_000
const PASSWORD = 'correct horse battery staple'
const OLD_KEY = 'old'
const NEW_KEY = 'new'

const rate = Number(process.argv[2] ?? 200)
if (!Number.isInteger(rate) || rate < 1) throw new Error('the rate is a whole number above 0')
const folder = createBenchFolder()

interface Session {
  readonly accessToken: string
  readonly refreshToken: string
  readonly userId: string
  readonly kid: string
  /** Epoch milliseconds. */
  readonly expiresAt: number
}

const SessionAnswer = z.object({
  access_token: z.string(),
  refresh_token: z.string(),
  expires_at: z.number(),
  user: z.object({ id: z.string() }),
})
const Header = z.object({ kid: z.string() })

/** The counts of the load. */
interface Load {
  readonly servers: readonly Server[]
  readonly users: Session[]
  /** Users whose tokens are being exchanged. */
  readonly refreshing: Set<number>
  isOver: boolean
  requests: number
  refreshes: number
  readonly refused: string[]
  readonly kids: Set<string>
}

try {
  await using started = new AsyncDisposableStack()
  const url = process.env.BENCH_DATABASE_URL
  const database = await openDatabaseServer({ url, folder: join(folder, 'postgres'), cores: undefined })
  started.defer(database.close)
  const databaseUrl = await database.create('trestle_bench_keys')
  const key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  const jwk = { ...key.export({ format: 'jwk' }), kid: OLD_KEY, alg: 'ES256', key_ops: ['sign'] }
  const deployment = await deploy('auth', {
    folder,
    databaseUrl,
    env: {
      AUTH_JWT_KEYS: JSON.stringify([jwk]),
      AUTH_JWT_EXP: String(TOKEN_SECONDS),
      AUTH_MAILER_AUTOCONFIRM: 'true',
      AUTH_RATE_LIMIT_EMAIL_SENT: 'off',
    },
  })
  const servers: Server[] = []
  for (let count = 0; count < 2; count += 1) {
    const server = await deployment.start({ cores: undefined, coreCount: 1 })
    started.defer(server.stop)
    servers.push(server)
  }
  const load: Load = {
    servers,
    users: [],
    refreshing: new Set(),
    isOver: false,
    requests: 0,
    refreshes: 0,
    refused: [],
    kids: new Set(),
  }
  for (let count = 0; count < USERS; count += 1) load.users.push(await signUp(load, count))
  const immortal = signLongLived(key, load.users[0]?.userId ?? '')
  const running = run(load)
  await delay(CALM_MS)
  await deployment.runCommand('keys', 'add', '--kid', NEW_KEY)
  await deployment.runCommand('keys', 'promote', NEW_KEY, '--now')
  const endMs = await readEnd(databaseUrl)
  say(`the new key signs; the old one verifies for another ${Math.round((endMs - Date.now()) / 1_000)} s`)
  await delay(Math.max(0, endMs - MARGIN_MS - Date.now()))
  const within = await askAll(servers, immortal)
  await delay(endMs + KNOWN_AFTER_MS - Date.now())
  const beyond = await askAll(servers, immortal)
  await delay(CALM_MS)
  load.isOver = true
  await running
  report(load, { within, beyond })
} finally {
  rmSync(folder, { recursive: true, force: true })
}

interface OldToken {
  readonly within: readonly number[]
  readonly beyond: readonly number[]
}

function report(load: Load, { within, beyond }: OldToken): void {
  const problems = [
    ...load.refused.slice(0, 10),
    ...(within.every((status) => status === 200) ? [] : [`within its window the old key was refused: ${within}`]),
    ...(beyond.every((status) => status === 403) ? [] : [`after its window the old key was accepted: ${beyond}`]),
    ...(load.kids.has(NEW_KEY) ? [] : ['the new key never signed']),
  ]
  say(
    `${load.requests} requests and ${load.refreshes} refreshes, ${load.refused.length} refused, keys ${[...load.kids]}`,
  )
  for (const problem of problems) say(problem)
  if (problems.length > 0) process.exitCode = 1
  else say('no valid token was refused; the old key was refused after its window')
}

/** Sends requests at a fixed rate, for each user and to each process in turn, without waiting for answers. */
async function run(load: Load): Promise<void> {
  const pending = new Set<Promise<void>>()
  const startMs = performance.now()
  for (let count = 0; !load.isOver; count += 1) {
    const dueMs = startMs + (count * 1_000) / rate - performance.now()
    if (dueMs > 0) await delay(dueMs)
    const asked = askOne(load, count).finally(() => pending.delete(asked))
    pending.add(asked)
  }
  await Promise.all(pending)
}

async function askOne(load: Load, count: number): Promise<void> {
  const user = count % USERS
  const session = load.users[user]
  if (!session) throw new Error('nobody')
  const leftMs = session.expiresAt - Date.now()
  if (leftMs < (TOKEN_SECONDS * 1_000) / 2 && !load.refreshing.has(user)) {
    load.refreshing.add(user)
    load.users[user] = await refresh(load, session, count).finally(() => load.refreshing.delete(user))
    return
  }
  if (leftMs < MARGIN_MS) return
  const { status, body } = await ask(serverOf(load, count), '/user', session.accessToken)
  load.requests += 1
  if (status !== 200) load.refused.push(`GET /user with ${session.kid}: ${status} ${body}`)
}

/** Asks the processes in turn, so that another process verifies a token than the one that signed it. */
function serverOf({ servers }: Load, count: number): Server {
  const server = servers[Math.floor(count / USERS + count) % servers.length]
  if (!server) throw new Error('no server')
  return server
}

async function refresh(load: Load, session: Session, count: number): Promise<Session> {
  const payload = { refresh_token: session.refreshToken }
  const answer = await send(`${serverOf(load, count).url}/token?grant_type=refresh_token`, payload)
  load.refreshes += 1
  if (answer.status === 200) return keep(load, answer.body)
  load.refused.push(`refresh: ${answer.status} ${answer.body}`)
  return session
}

async function signUp(load: Load, count: number): Promise<Session> {
  const payload = { email: `user${count}@example.com`, password: PASSWORD }
  const { status, body } = await send(`${serverOf(load, count).url}/signup`, payload)
  if (status !== 200) throw new Error(`POST /signup answered ${status}: ${body}`)
  return keep(load, body)
}

function keep(load: Load, body: string): Session {
  const answer = SessionAnswer.parse(JSON.parse(body))
  const { access_token: accessToken, refresh_token: refreshToken, expires_at, user } = answer
  const { kid } = Header.parse(JSON.parse(Buffer.from(accessToken.split('.')[0] ?? '', 'base64url').toString()))
  load.kids.add(kid)
  return { accessToken, refreshToken, userId: user.id, kid, expiresAt: expires_at * 1_000 }
}

async function askAll(servers: readonly Server[], token: string): Promise<readonly number[]> {
  return Promise.all(servers.map(async (server) => (await ask(server, '/user', token)).status))
}

async function ask(server: Server, path: string, token: string) {
  const response = await fetch(server.url + path, { headers: { authorization: `Bearer ${token}` } })
  return { status: response.status, body: await response.text() }
}

async function send(url: string, payload: object) {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(payload) })
  return { status: response.status, body: await response.text() }
}

/** A token of the old key whose expiry is later than the end of the key's window. */
function signLongLived(key: KeyObject, userId: string): string {
  const exp = Math.floor(Date.now() / 1_000) + 3_600
  const claims = { sub: userId, aud: 'authenticated', role: 'authenticated', exp }
  const parts = [{ alg: 'ES256', typ: 'JWT', kid: OLD_KEY }, claims]
  const data = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${data}.${sign('sha256', Buffer.from(data), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
}

/** When the processes must refuse the old key, in epoch milliseconds. */
async function readEnd(databaseUrl: string): Promise<number> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    const text = 'SELECT retire_at FROM auth.signing_keys WHERE kid = $1'
    const { rows } = await client.query<{ retire_at: Date | null }>(text, [OLD_KEY])
    const end = rows[0]?.retire_at
    if (!end) throw new Error('the old key has no end')
    return end.getTime()
  } finally {
    await client.end()
  }
}
