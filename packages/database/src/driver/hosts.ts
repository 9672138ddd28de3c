import { connect } from 'node:net'
import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely'
import pg from 'pg'
import { isDatabaseUnavailable, NoConnectionError } from '../unavailable.ts'

/**
 * Returns one connection string for each host of `postgres://…@a:5432,b:5432/name`. All hosts lead to the same database. Most
 * URLs have one host.
 */
export function urlsOfHosts(url: string): readonly string[] {
  const [, start = '', hosts = '', rest = ''] = /^(\w+:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s.exec(url) ?? []
  return hosts.includes(',') ? hosts.split(',').map((host) => start + host + rest) : [url]
}

interface HostOptions {
  readonly connectionString: string
  readonly Client?: typeof pg.Client
}

/** A starting or stopping host accepted a connection, but refused it before a statement was sent. */
class HostRefusalError extends NoConnectionError {}

/**
 * Connects, and tries again with another host if the chosen host refuses the connection. The first host has received no
 * statement, so the repeat is safe.
 * @param hosts the number of hosts, and so the largest number of attempts
 * @throws the last refusal if each host refuses, and any other error immediately
 */
export async function connectToAny<T>(attempt: () => Promise<T>, hosts: number): Promise<T> {
  try {
    return await attempt()
  } catch (error) {
    if (hosts <= 1 || !(error instanceof HostRefusalError)) throw error
    return connectToAny(attempt, hosts - 1)
  }
}

/** For this time, a host that refused a connection is tried last. */
const REFUSED_MS = 5_000
/** If a host does not accept a connection within this time, the next host is tried. */
const ACCEPT_MS = 1_000
const POSTGRES_PORT = 5_432

interface Host {
  readonly host: string
  readonly port: number
}

/**
 * Lets each connection choose a random host of a connection string. Skips hosts that do not answer.
 * @param Client the class of connections
 */
export function overHosts(url: string, Client?: typeof pg.Client): HostOptions {
  const urls = urlsOfHosts(url)
  const [first = url] = urls
  if (urls.length === 1) return { connectionString: url, ...(Client && { Client }) }
  return { connectionString: first, Client: clientOver(urls.map(toHost), Client ?? pg.Client) }
}

function toHost(url: string): Host {
  const { hostname, port } = new URL(url)
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port) || POSTGRES_PORT }
}

function clientOver(hosts: readonly Host[], Client: typeof pg.Client): typeof pg.Client {
  const refusedAt = new Map<Host, number>()
  const lastRefused = (host: Host) => {
    const atMs = refusedAt.get(host) ?? Number.NEGATIVE_INFINITY
    return performance.now() - atMs < REFUSED_MS ? atMs : Number.NEGATIVE_INFINITY
  }
  const pick = async (): Promise<Host> => {
    const byChance = hosts
      .map((host) => ({ host, chance: Math.random() }))
      .sort((one, other) => one.chance - other.chance)
    const order = byChance.map(({ host }) => host).sort((one, other) => compare(lastRefused(one), lastRefused(other)))
    for (const host of order) {
      if (await accepts(host)) return host
      refusedAt.set(host, performance.now())
    }
    throw new NoConnectionError('no host of the database accepts connections')
  }
  return class extends Client {
    // One method must replace all overloads of pg, as in `clientUnder`.
    override connect(...given: never[]): never
    override connect(done?: (error?: Error) => void): unknown {
      const connecting = pick().then(async (host) => {
        Object.assign(this, host)
        await super.connect().catch((error: unknown) => {
          // A server that is starting or stopping accepts a connection and then refuses it.
          refusedAt.set(host, performance.now())
          if (!isDatabaseUnavailable(error)) throw error
          throw new HostRefusalError('a host of the database refuses connections', { cause: error })
        })
      })
      if (!done) return connecting
      connecting.then(() => done(), done)
      return undefined
    }
  }
}

function compare(one: number, other: number): number {
  return one === other ? 0 : one - other
}

function accepts({ host, port }: Host): Promise<boolean> {
  const socket = connect(port, host)
  return new Promise((resolve) => {
    const end = (isOpen: boolean) => {
      socket.destroy()
      resolve(isOpen)
    }
    socket.once('connect', () => end(true))
    socket.once('error', () => end(false))
    socket.setTimeout(ACCEPT_MS, () => end(false))
  })
}

/** Returns a database that sends statements nowhere and answers each with no rows. */
export function createSilentDatabase<Tables>(): Kysely<Tables> {
  return new Kysely({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  })
}
