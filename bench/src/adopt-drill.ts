import { rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '@trestle/testing/free-port.ts'
import { Command } from 'commander'
import { makeBenchFolder } from './bench-folder.ts'
import { positiveInteger, runCommand } from './command-line.ts'
import { makeServerFolder, ourServer, type ServerKind, theirServer } from './compare-servers/servers.ts'
import { SECRET } from './compare-servers/tokens.ts'
import { execute, openDatabaseServer } from './database.ts'
import { runProgram } from './processes/run-program.ts'

// Moves a running supabase/auth to auth and back (docs/runbooks/moving-in.md): fills it over HTTP, adopts its database while
// requests go on, sees that nothing is lost that was acknowledged, and gives the database back.

interface Options {
  readonly program: string
  readonly users: number
  readonly rate: number
  readonly form: string
}

const command = new Command('scripts/adopt-drill')
  .description('Moves a running supabase/auth to auth and back, while requests go on.')
  .requiredOption('--program <file>', 'the program of supabase/auth, with its migrations beside it')
  .option('--users <number>', 'users before the requests begin', positiveInteger, 200)
  .option('--rate <number>', 'requests a second during the adoption', positiveInteger, 50)
  .option('--form <number>', 'the form of its refresh tokens: 1 or 2', '1')
  .action(run)

const PASSWORD = 'correct horse battery'
const SETTINGS = {
  JWT_SECRET: SECRET,
  JWT_AUD: 'authenticated',
  JWT_ADMIN_ROLES: 'supabase_admin,service_role',
  API_HOST: '127.0.0.1',
  SITE_URL: 'http://localhost:3000',
  MAILER_AUTOCONFIRM: 'true',
  RATE_LIMIT_TOKEN_REFRESH: '1000000',
  RATE_LIMIT_OTP: '1000000',
} as const
/** How long requests go on before the adoption begins. */
const LEAD_MS = 3_000

/** What the old service has acknowledged of a user. */
interface Known {
  readonly email: string
  token: string
  /** The `n` of the user's metadata. */
  written: number
}

type Answer = Readonly<{ status: number; body: Readonly<Record<string, unknown>> }>

async function run({ program, users, rate, form }: Options): Promise<void> {
  const folder = makeBenchFolder()
  try {
    await using started = new AsyncDisposableStack()
    const database = await openDatabaseServer({ url: process.env.BENCH_DATABASE_URL, folder: join(folder, 'postgres') })
    started.defer(database.close)
    const databaseUrl = await database.create('trestle_bench_adopt')
    const theirs = theirServer(resolve(program), makeServerFolder(folder, 'theirs'))
    const ours = ourServer(resolve(import.meta.dirname, '..', '..'), makeServerFolder(folder, 'ours'), 'supabase')
    await theirs.migrate(databaseUrl)
    const env = { SECURITY_REFRESH_TOKEN_ALGORITHM_VERSION: form, ...SETTINGS }
    const known = await moveIn({ databaseUrl, theirs, ours, env, users, rate })
    await moveBack({ databaseUrl, theirs, ours, env }, known)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Place {
  readonly databaseUrl: string
  readonly theirs: ServerKind
  readonly ours: ServerKind
  readonly env: Readonly<Record<string, string>>
}

async function moveIn(place: Place & Pick<Options, 'users' | 'rate'>): Promise<readonly Known[]> {
  const { databaseUrl, users, rate } = place
  const old = await start(place, place.theirs)
  const known: Known[] = []
  while (known.length < users) known.push(await signUp(old.url, known.length))
  const load = sendLoad(old.url, known, rate)
  await pause(LEAD_MS)
  say(await adopt(place, ['adopt']))
  const { sent, failed } = await load.stop()
  say(`${sent} requests during the adoption, ${failed} refused once it had switched`)
  const refused = await call(`${old.url}/token?grant_type=password`, { email: known[0]?.email, password: PASSWORD })
  if (refused.status === 200) throw new Error('the old service still signs users in')
  await old.stop()
  const own = await start(place, place.ours)
  await expectKnown(own.url, known)
  known.push(await signUp(own.url, known.length))
  await own.stop()
  const [{ count }] = (await execute(databaseUrl, 'SELECT count(*)::int AS count FROM auth.users')) as [
    { count: number },
  ]
  say(`${count} users, and ${known.length} were acknowledged`)
  return known
}

/** Every acknowledged user signs in, refreshes and has what was acknowledged last. */
async function expectKnown(url: string, known: readonly Known[]): Promise<void> {
  for (const user of known) {
    const { email, token, written } = user
    const refreshed = await call(`${url}/token?grant_type=refresh_token`, { refresh_token: token })
    if (refreshed.status !== 200) throw new Error(`${email} does not refresh: ${JSON.stringify(refreshed)}`)
    await expectSignIn(url, { email, written })
  }
  say(`${known.length} users refresh, sign in and have their metadata`)
}

async function expectSignIn(url: string, { email, written }: Pick<Known, 'email' | 'written'>): Promise<void> {
  const { status, body } = await call(`${url}/token?grant_type=password`, { email, password: PASSWORD })
  const n = numberOf(body)
  // A write whose answer was lost may have been done.
  if (status !== 200 || n < written) {
    throw new Error(`${email} signs in with ${status}, metadata ${n} of ${written}: ${JSON.stringify(body)}`)
  }
}

async function moveBack(place: Place, known: readonly Known[]): Promise<void> {
  say(await adopt(place, ['adopt', '--undo', '--yes']))
  const old = await start(place, place.theirs)
  for (const user of known) await expectSignIn(old.url, user)
  await old.stop()
  say(`${known.length} users sign in at the old service again`)
}

interface Running {
  readonly url: string
  stop(): Promise<void>
}

async function start({ databaseUrl, env }: Place, kind: ServerKind): Promise<Running> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const server = await kind.start(
    { ...kind.environment(databaseUrl, port), ...prefixed(kind, env), API_EXTERNAL_URL: url },
    url,
  )
  return { url, stop: () => server.stop() }
}

function prefixed({ prefix }: ServerKind, env: Place['env']): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [prefix + name, value]))
}

function adopt({ databaseUrl, ours, env }: Place, args: readonly string[]): Promise<string> {
  const entry = join(import.meta.dirname, '..', '..', 'services', 'auth', 'src', 'main.ts')
  const own = { ...ours.environment(databaseUrl, 0), ...prefixed(ours, env), AUTH_API_EXTERNAL_URL: 'http://localhost' }
  return runProgram({ program: process.execPath, args: [entry, ...args], env: own, cwd: join(import.meta.dirname) })
}

async function signUp(url: string, number: number): Promise<Known> {
  const email = `user-${number}@example.com`
  const { status, body } = await call(`${url}/signup`, { email, password: PASSWORD, data: { n: 0 } })
  if (status !== 200) throw new Error(`${email} cannot sign up: ${JSON.stringify(body)}`)
  return { email, token: String(body.refresh_token), written: 0 }
}

/** Sends refreshes, changes of metadata and sign-ups, until it is stopped. Each user has one request at a time. */
function sendLoad(url: string, known: Known[], rate: number) {
  const busy = new Set<Known>()
  const open = new Set<Promise<void>>()
  const counts = { sent: 0, failed: 0 }
  const sendOne = async (): Promise<void> => {
    counts.sent += 1
    const number = counts.sent
    const user = known[number % known.length]
    if (number % 5 === 0) {
      const made = await signUp(url, 1_000_000 + number).catch(() => undefined)
      if (made) known.push(made)
      else counts.failed += 1
    } else if (user !== undefined && !busy.has(user)) {
      busy.add(user)
      if (!(await refreshAndWrite(url, user, number))) counts.failed += 1
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
      return counts
    },
  }
}

/** @returns whether both requests were acknowledged */
async function refreshAndWrite(url: string, user: Known, number: number): Promise<boolean> {
  const { status, body } = await call(`${url}/token?grant_type=refresh_token`, { refresh_token: user.token })
  if (status !== 200) return false
  user.token = String(body.refresh_token)
  const written = await call(
    `${url}/user`,
    { data: { n: number } },
    { method: 'PUT', token: String(body.access_token) },
  )
  if (written.status === 200) user.written = Math.max(user.written, number)
  return written.status === 200
}

async function call(
  url: string,
  payload: object,
  { method = 'POST', token = '' }: { readonly method?: string; readonly token?: string } = {},
): Promise<Answer> {
  const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) }
  try {
    const answer = await fetch(url, {
      method,
      headers,
      body: JSON.stringify(payload),
      signal: AbortSignal.timeout(30_000),
    })
    return { status: answer.status, body: JSON.parse((await answer.text()) || '{}') }
  } catch {
    return { status: 0, body: {} }
  }
}

function numberOf({ user }: Answer['body']): number {
  const metadata = typeof user === 'object' && user !== null && 'user_metadata' in user ? user.user_metadata : {}
  return typeof metadata === 'object' && metadata !== null && 'n' in metadata ? Number(metadata.n) : Number.NaN
}

function say(text: string): void {
  process.stdout.write(`${text.trimEnd()}\n`)
}

await runCommand(command)
