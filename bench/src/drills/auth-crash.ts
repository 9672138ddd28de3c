import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createMailStore, type MailStore } from '@trestle/stack/mail/mail-store.ts'
import { startSmtpListener } from '@trestle/stack/mail/smtp-listener.ts'
import pg from 'pg'
import { createBenchFolder, say } from '../program.ts'
import { openDatabaseServer } from '../servers/database.ts'
import { type Deployment, deploy } from '../servers/deployment.ts'
import type { Server } from '../servers/server.ts'

// Kills auth again and again while people sign up and confirm: `node bench/src/drills/auth-crash.ts [kills]`, 20 by default. Afterwards no
// user may lack an identity, no link or code may have been used twice, and each mail must have arrived. Exit status 1 when one
// of these is not so.

const USERS_AT_ONCE = 6
const LIFE_MS = 2_500
const PATIENCE_MS = 5_000
/** The queue notices a killed worker after a while, and gives its jobs to another worker. */
const LAST_MAIL_MS = 180_000
const MAILS_MAX = 100_000

const kills = Number(process.argv[2] ?? 20)
if (!Number.isInteger(kills) || kills < 1) throw new Error('the number of kills is a whole number above 0')
const folder = createBenchFolder()

/** The state of the load, as its users know it. `used` counts the sessions that the verifications of one user returned. */
interface Load {
  /** The running server, or the one that is about to run. */
  server: Promise<Server>
  readonly mails: MailStore
  isOver: boolean
  signUps: number
  unanswered: number
  readonly used: Map<string, number>
}

try {
  await using started = new AsyncDisposableStack()
  const database = await openDatabaseServer({ url: process.env.BENCH_DATABASE_URL, folder: join(folder, 'postgres') })
  started.defer(database.close)
  const mails = createMailStore(() => new Date(), { mailsMax: MAILS_MAX, bytesMax: Number.MAX_SAFE_INTEGER })
  const smtp = await startSmtpListener(mails, 0)
  started.defer(smtp.close)
  const databaseUrl = await database.create('trestle_bench_crash')
  const deployment = await deploy('auth', {
    folder,
    databaseUrl,
    env: { AUTH_SMTP_PORT: String(smtp.port), AUTH_RATE_LIMIT_EMAIL_SENT: 'off' },
  })
  const load: Load = {
    server: start(deployment),
    mails,
    isOver: false,
    signUps: 0,
    unanswered: 0,
    used: new Map(),
  }
  started.defer(async () => (await load.server).stop())
  const users = Array.from({ length: USERS_AT_ONCE }, () => signUpUsers(load))
  for (let kill = 1; kill <= kills; kill += 1) {
    const server = await load.server
    await delay(LIFE_MS * (0.5 + Math.random()))
    load.server = server.kill().then(() => start(deployment))
    await load.server
    say(`kill ${kill}: ${load.signUps} signups, ${load.unanswered} requests without an answer`)
  }
  load.isOver = true
  await Promise.all(users)
  const problems = await findProblems(databaseUrl, load)
  for (const problem of problems) say(problem)
  if (problems.length > 0) process.exitCode = 1
  else say('every user has an identity, nothing was used twice, every mail arrived')
} finally {
  rmSync(folder, { recursive: true, force: true })
}

function start(deployment: Deployment): Promise<Server> {
  return deployment.start()
}

/** A loop of one client: it signs up, waits for the mail, and uses the mail's link and code twice at the same time. */
async function signUpUsers(load: Load): Promise<void> {
  while (!load.isOver) {
    const email = `user${++load.signUps}@example.com`
    const answer = await ask(load, '/signup', { email, password: 'correct horse battery' })
    if (answer !== 200) continue
    const mail = await findMail(load, email)
    if (!mail) continue
    for (let round = 0; round < 2; round += 1) {
      const answers = await Promise.all([
        ask(load, '/verify', { type: 'signup', token_hash: mail.token }),
        ask(load, '/verify', { type: 'signup', email, token: mail.code }),
      ])
      const sessions = answers.filter((status) => status === 200).length
      load.used.set(email, (load.used.get(email) ?? 0) + sessions)
    }
  }
}

/** @returns the status; undefined when the server ended before its answer */
async function ask(load: Load, path: string, body: object): Promise<number | undefined> {
  const { url } = await load.server
  try {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    await response.text()
    return response.status
  } catch {
    load.unanswered += 1
    return undefined
  }
}

/**
 * Waits for the mail of a sign-up. A user who waits too long signs up again; whether the first mail came is checked at the
 * end.
 */
async function findMail(load: Load, email: string) {
  const endMs = performance.now() + PATIENCE_MS
  while (!load.isOver && performance.now() < endMs) {
    const html = load.mails.list().find(({ to }) => to.includes(email))?.html
    const token = /token=([0-9a-f]{56})/.exec(html ?? '')?.[1]
    const code = /<strong>(\d{6})<\/strong>/.exec(html ?? '')?.[1]
    if (token !== undefined && code !== undefined) return { token, code }
    await delay(20)
  }
  return undefined
}

async function findProblems(databaseUrl: string, load: Load): Promise<readonly string[]> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    const list = async (text: string) => (await client.query<{ email: string }>(text)).rows.map(({ email }) => email)
    const users = await list('SELECT email FROM auth.users')
    const [missing, again] = await countMails(load, users)
    const withoutIdentity = await list(
      'SELECT email FROM auth.users u WHERE NOT EXISTS (SELECT FROM auth.identities i WHERE i.user_id = u.id)',
    )
    const signedInTwice = await list(
      'SELECT u.email FROM auth.users u JOIN auth.sessions s ON s.user_id = u.id GROUP BY u.id HAVING count(*) > 1',
    )
    const usedTwice = [...load.used].filter(([, times]) => times > 1).map(([email]) => email)
    say(
      `${users.length} users, ${[...load.used.values()].filter((times) => times === 1).length} confirmed; ${again} mails came twice`,
    )
    return [
      ...withoutIdentity.map((email) => `${email} has no identity`),
      ...signedInTwice.map((email) => `${email} has more than one session`),
      ...usedTwice.map((email) => `the mail of ${email} was used more than once`),
      ...missing.map((email) => `no mail to ${email}`),
    ]
  } finally {
    await client.end()
  }
}

/** Waits for the last mails. @returns the users without a mail, and how many mails came more than once */
async function countMails(load: Load, users: readonly string[]): Promise<readonly [readonly string[], number]> {
  const endMs = performance.now() + LAST_MAIL_MS
  for (;;) {
    const counts = new Map<string, number>()
    for (const { to } of load.mails.list()) for (const email of to) counts.set(email, (counts.get(email) ?? 0) + 1)
    const missing = users.filter((email) => !counts.has(email))
    if (missing.length === 0 || performance.now() > endMs) {
      return [missing, [...counts.values()].filter((count) => count > 1).length]
    }
    await delay(500)
  }
}
