import { execFile } from 'node:child_process'
import { chownSync, existsSync, globSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { type Account, chooseAccount } from '@trestle/stack/postgres/home.ts'
import { serverEndSteps, startServer } from '@trestle/stack/postgres/server.ts'
import { freePort } from '@trestle/testing/free-port.ts'
import { z } from 'zod'
import {
  createApp,
  insertTransactions,
  merchantBody,
  PASSWORD,
  post,
  request,
  type Session,
  signUp,
} from '../../fixtures.ts'
import { closeAtSignal } from '../../servers/close-at-signal.ts'
import { execute } from '../../servers/database.ts'
import { type Deployment, deploy } from '../../servers/deployment.ts'
import type { Server } from '../../servers/server.ts'

export interface Business {
  readonly auth: Server
  readonly payments: Server
  readonly inventory: Server
  readonly deployments: Readonly<Record<Name, Deployment>>
  /** Milliseconds from the start of the processes until all were ready. */
  readonly readyMs: number
  stop(): Promise<void>
}

/** The tokens and ids that clients have when the database is lost. */
interface Belongings {
  readonly session: Session
  readonly email: string
  readonly headers: Readonly<Record<string, string>>
  readonly transactions: readonly string[]
  readonly products: number
}

const NAMES = ['auth', 'payments', 'inventory'] as const
type Name = (typeof NAMES)[number]

/** Settings that let a single client send as much as many clients. */
const ENV: Readonly<Record<Name, Readonly<Record<string, string>>>> = {
  auth: {
    AUTH_MAILER_AUTOCONFIRM: 'true',
    AUTH_RATE_LIMIT_OTP: 'off',
    AUTH_RATE_LIMIT_TOKEN_REFRESH: 'off',
    AUTH_RATE_LIMIT_EMAIL_SENT: 'off',
  },
  payments: { PAYMENTS_RATE_KEY: '0', PAYMENTS_RATE_APPS: '0', PAYMENTS_RATE_FAILURES: '0' },
  inventory: {},
}

const MERCHANTS = 20
const USERS_BY_FORM = 20
const CAPTURES_AT_ONCE = 16
const Ids = z.array(z.object({ id: z.string() })).transform((rows) => rows.map(({ id }) => id))

/**
 * Migrates a database if needed, and starts each service with keys from the folder. @throws Error if the checkout lacks a service
 */
export async function open(folder: string, databaseUrl: string): Promise<Business> {
  const opened = await Promise.all(
    NAMES.map(async (name) => {
      const deployment = await deploy(name, { folder, databaseUrl, env: ENV[name] })
      return { deployment, server: await deployment.start({ cores: undefined, coreCount: 1 }) }
    }),
  )
  const [auth, payments, inventory] = opened
  if (!auth || !payments || !inventory) throw new Error('a service is missing')
  return {
    auth: auth.server,
    payments: payments.server,
    inventory: inventory.server,
    deployments: { auth: auth.deployment, payments: payments.deployment, inventory: inventory.deployment },
    readyMs: Math.max(...opened.flatMap(({ server }) => server.startMs)),
    stop: async () => {
      await Promise.all(opened.map(({ server }) => server.stop()))
    },
  }
}

/** Fills the database with users, transactions and products, mostly by SQL and partly by requests. */
export async function fillDatabase(
  business: Business,
  databaseUrl: string,
  folder: string,
  rows: number,
): Promise<Belongings> {
  const { auth, payments, deployments } = business
  const file = join(folder, 'users.ndjson')
  const line = (n: number) =>
    JSON.stringify({ email: `user${n}@drill.example`, email_confirm: true, user_metadata: { name: `User ${n}` } })
  writeFileSync(file, Array.from({ length: rows }, (_, n) => line(n)).join('\n'))
  await deployments.auth.runCommand('users', 'import', file)
  const email = 'person0@drill.example'
  const session = await signUp(auth.url, email)
  for (let n = 1; n < USERS_BY_FORM; n += 1) await signUp(auth.url, `person${n}@drill.example`)
  await deployments.inventory.runCommand('seed', '--products', String(rows), '--stock', '5')
  const headers = await createApp(payments.url)
  for (let n = 0; n < MERCHANTS; n += 1) await post(`${payments.url}/merchants`, merchantBody(n), headers)
  await insertTransactions((text) => execute(databaseUrl, text), Math.ceil(rows / MERCHANTS))
  const transactions = Ids.parse(await execute(databaseUrl, 'SELECT id FROM payments.transactions'))
  const belongings = { session, email, headers, transactions, products: rows }
  for (let first = 0; first < rows / 2; first += CAPTURES_AT_ONCE) {
    const some = transactions.slice(first, first + CAPTURES_AT_ONCE)
    await Promise.all(some.map((id) => capture(business, belongings, id)))
  }
  return belongings
}

/** Signs users up, captures and creates products until it is stopped. @returns the number of acknowledged writes */
export async function writeUntil(business: Business, belongings: Belongings, isOver: () => boolean): Promise<number> {
  let writes = 0
  const { auth, inventory } = business
  while (!isOver()) {
    const id = belongings.transactions[writes % belongings.transactions.length] ?? ''
    await Promise.all([
      signUp(auth.url, `late${writes}@drill.example`),
      capture(business, belongings, id),
      post(`${inventory.url}/products`, { sku: `LATE-${writes}`, attributes: '{}' }),
    ])
    writes += 3
  }
  return writes
}

/** Reads old data from each service and writes to each service. @throws Error with the answer */
export async function askAll(business: Business, belongings: Belongings): Promise<readonly string[]> {
  const { auth, inventory } = business
  const { email, session, transactions, products } = belongings
  const json = { 'content-type': 'application/json' }
  await post(`${auth.url}/token?grant_type=password`, { email, password: PASSWORD })
  await post(`${auth.url}/token?grant_type=refresh_token`, { refresh_token: session.refresh_token })
  await request(`${auth.url}/user`, { headers: { authorization: `Bearer ${session.access_token}` } })
  await signUp(auth.url, 'after@drill.example')
  await capture(business, belongings, transactions.at(-1) ?? '')
  await request(`${inventory.url}/products/${products}`)
  await request(`${inventory.url}/products`, {
    method: 'POST',
    headers: json,
    body: '{"sku":"AFTER","attributes":"{}"}',
  })
  return [
    'auth: a sign-in, a refresh by a token from before, the user of an access token from before, a sign-up',
    'payments: a capture of a transaction from before',
    'inventory: a product from before, and a new one',
  ]
}

async function capture({ payments }: Business, { headers }: Pick<Belongings, 'headers'>, id: string): Promise<void> {
  await post(`${payments.url}/transactions/${id}/captures`, { amount: 100 }, headers)
}

export interface Programs {
  readonly directory: string
  /** Runs a program and returns its standard output. @throws Error with its standard error */
  run(name: string, args: readonly string[]): Promise<string>
}

export interface Cluster {
  url(database: string): string
  end(): Promise<void>
}

const USER = 'trestle'
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024

/**
 * Finds the newest installed PostgreSQL with client programs, which the PostgreSQL from npm lacks.
 * @param given a folder with `initdb` and `pg_dump`, from PG_BIN
 * @throws Error if no folder has `initdb` and `pg_dump`
 */
export function findPrograms(given: string | undefined): Programs {
  const places = given === undefined ? globSync('/usr/{lib/postgresql,pgsql-}*/{*/,}bin').sort().reverse() : [given]
  const path = [...places, ...(process.env.PATH ?? '').split(':')]
  const bin = path.find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'pg_dump')))
  if (bin === undefined)
    throw new Error('there is no PostgreSQL with initdb and pg_dump here: set PG_BIN to its folder')
  const run = async (name: string, args: readonly string[]) => {
    const done = promisify(execFile)(join(bin, name), args, { maxBuffer: OUTPUT_BYTES_MAX, cwd: '/' })
    const { stdout } = await done.catch((error) => {
      throw new Error(`${name} failed: ${String(error.stderr).trim()}`)
    })
    return stdout
  }
  return { directory: dirname(bin), run }
}

/** Creates and starts an empty server in a folder with PostgreSQL's default settings, so every commit waits for the disk. */
export async function startCluster({ directory }: Programs, folder: string): Promise<Cluster> {
  const account = process.getuid?.() === 0 ? await chooseAccount() : undefined
  const data = join(folder, 'data')
  mkdirSync(folder, { recursive: true, mode: 0o755 })
  mkdirSync(data, { mode: 0o700 })
  if (account) chownSync(data, account.uid, account.gid)
  await initialise(join(directory, 'bin', 'initdb'), data, account)
  const port = await freePort()
  const home = { binaries: directory, data, ...(account && { account }), isOutside: true }
  const logFile = join(folder, 'postgres.log')
  const server = await startServer({ home, port, logFile, signal: new AbortController().signal })
  const end = () => server.end(serverEndSteps)
  const forget = closeAtSignal(end)
  return {
    url: (database) => `postgres://${USER}@127.0.0.1:${port}/${database}`,
    end: async () => {
      await end()
      forget()
    },
  }
}

async function initialise(initdb: string, data: string, account: Account | undefined): Promise<void> {
  const args = [`--pgdata=${data}`, `--username=${USER}`, '--auth=trust', '--encoding=UTF8', '--locale=C']
  await promisify(execFile)(initdb, args, {
    cwd: '/',
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
    ...(account && { uid: account.uid, gid: account.gid }),
  })
}
